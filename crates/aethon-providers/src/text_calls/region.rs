//! Follows a call from its opener to its end as it arrives, so that words after it, which make it mere talk about a
//! call, are noticed at once.
//!
//! It finds the end of the arguments but does not interpret them; the family does that once they are complete. Every
//! byte is examined once.

use super::families::table::ENDS;
use super::family::{Beginning, Family, begins_with};

/// Longer than any name and id.
const MAX_HEADER: usize = 512;

/// What else may separate calls: ends of code blocks and lists, and a superfluous bracket.
const GLUE: [char; 8] = [';', ',', '`', '}', ']', ')', '\\', '\u{feff}'];

/// A call that is still arriving.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) family: &'static Family,
    /// Whether it began at the start of a line.
    pub(super) is_at_line_start: bool,
    mode: Mode,
    /// The position of its first opener.
    start: usize,
    /// The text was examined up to here.
    at: usize,
}

#[derive(Debug, Clone, Copy)]
enum Mode {
    /// Before the arguments: where that began, and how much of a name there was.
    Header(usize, Word),
    /// In arguments in JSON or Python syntax.
    Brackets { depth: usize, quote: Option<u8>, is_escaped: bool },
    /// In the tag before markup arguments: where it began, and what ends the arguments.
    Tag(usize, &'static str),
    /// In arguments that end with this.
    Markup(&'static str),
    /// In something broken, until a closer.
    Broken,
    /// After a call.
    Behind,
    /// After the end of the response, at this position.
    Over(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    None,
    Open,
    Complete,
}

/// The verdict on a text that began like a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may be a call.
    Hold,
    /// It may be a call, and the response ends at this position.
    Over(usize),
    /// It is not a call; text before this position need not be examined again.
    Talk(usize),
}

impl Region {
    /// Starts at an opener of a family, at the beginning of the text.
    pub(super) fn new(family: &'static Family, is_at_line_start: bool) -> Self {
        Self { family, is_at_line_start, mode: Mode::Header(0, Word::None), start: 0, at: 0 }
    }

    /// Starts after this many bytes instead.
    pub(super) fn behind_blanks(self, blanks: usize) -> Self {
        Self { mode: Mode::Header(blanks, Word::None), start: blanks, at: blanks, ..self }
    }

    /// Starts at arguments that begin at this position.
    pub(super) fn at_brackets(family: &'static Family, at: usize) -> Self {
        let mode = Mode::Brackets { depth: 0, quote: None, is_escaped: false };
        Self { family, is_at_line_start: true, mode, start: at, at }
    }

    /// Returns whether there is only an opener so far, and no earlier one before it.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.mode, Mode::Header(since, Word::None) if since == self.start)
    }

    /// Examines everything up to the end of `text`, which is the whole text so far.
    pub(super) fn advance(&mut self, text: &str) -> Verdict {
        while self.at < text.len() {
            let step = match self.mode {
                Mode::Header(since, word) => self.header(text, since, word),
                Mode::Brackets { depth, quote, is_escaped } => {
                    self.brackets(text, depth, quote, is_escaped);
                    Step::On
                }
                Mode::Tag(since, end) => self.tag(text, since, end),
                Mode::Markup(end) => self.markup(text, &[end]),
                Mode::Broken => self.markup(text, self.family.closers),
                Mode::Behind => self.behind(text),
                Mode::Over(end) => return Verdict::Over(end),
            };
            match step {
                Step::On => {}
                Step::Wait => return Verdict::Hold,
                Step::Talk => return Verdict::Talk(self.at),
            }
        }
        match self.mode {
            Mode::Over(end) => Verdict::Over(end),
            _ => Verdict::Hold,
        }
    }

    fn header(&mut self, text: &str, since: usize, word: Word) -> Step {
        let rest = &text[self.at..];
        if self.at - since > MAX_HEADER {
            return Step::Talk;
        }
        let family = self.family;
        if let Some(step) = self.begin_markup(rest) {
            return step;
        }
        for tokens in [family.openers, family.inner] {
            match begins_with(rest, tokens) {
                Beginning::With(length) => return self.go(length, Mode::Header(since, Word::None)),
                Beginning::Partly => return Step::Wait,
                Beginning::Not => {}
            }
        }
        match begins_with(rest, family.closers) {
            Beginning::With(length) if word != Word::None => return self.go(length, Mode::Behind),
            Beginning::With(_) => return Step::Talk,
            Beginning::Partly => return Step::Wait,
            Beginning::Not => {}
        }
        let Some(c) = rest.chars().next() else { return Step::Wait };
        match c {
            '{' | '[' => self.go(0, Mode::Brackets { depth: 0, quote: None, is_escaped: false }),
            '(' if word != Word::None => {
                self.go(0, Mode::Brackets { depth: 0, quote: None, is_escaped: false })
            }
            c if c.is_whitespace() => {
                let word = if word == Word::Open { Word::Complete } else { word };
                self.go(c.len_utf8(), Mode::Header(since, word))
            }
            c if family.has_bare_names && word != Word::Complete && is_of_name(c) => {
                self.go(c.len_utf8(), Mode::Header(since, Word::Open))
            }
            _ => Step::Talk,
        }
    }

    fn begin_markup(&mut self, rest: &str) -> Option<Step> {
        for (begin, end) in self.family.markup {
            match begins_with(rest, &[begin]) {
                Beginning::With(length) => {
                    let is_whole = begin.ends_with('>');
                    let mode = if is_whole { Mode::Markup(end) } else { Mode::Tag(self.at, end) };
                    return Some(self.go(length, mode));
                }
                Beginning::Partly => return Some(Step::Wait),
                Beginning::Not => {}
            }
        }
        None
    }

    /// A tag with a name is followed by arguments; anything else is talk about such tags.
    fn tag(&mut self, text: &str, since: usize, end: &'static str) -> Step {
        let tag = &text[since..];
        let Some(close) = tag.find('>').filter(|close| *close <= MAX_HEADER) else {
            let is_broken = tag.len() > MAX_HEADER || tag[1..].contains(['<', '\n']);
            return if is_broken { Step::Talk } else { Step::Wait };
        };
        let body = tag[close + 1..].trim_start();
        let blanks = tag.len() - close - 1 - body.len();
        match body.chars().next() {
            _ if tag[1..close].contains(['<', '\n']) || blanks > MAX_HEADER => Step::Talk,
            None => Step::Wait,
            Some('{' | '<') => {
                self.at = since + close + 1;
                self.mode = Mode::Markup(end);
                Step::On
            }
            Some(_) => Step::Talk,
        }
    }

    fn brackets(&mut self, text: &str, mut depth: usize, mut quote: Option<u8>, mut is_escaped: bool) {
        let bytes = text.as_bytes();
        while self.at < bytes.len() {
            let byte = bytes[self.at];
            match quote {
                Some(_) if is_escaped => is_escaped = false,
                Some(_) if byte == b'\\' => is_escaped = true,
                Some(open) if byte == open => quote = None,
                Some(_) => {}
                None => match byte {
                    b'"' | b'\'' => quote = Some(byte),
                    b'{' | b'[' | b'(' => depth += 1,
                    b'}' | b']' | b')' if depth <= 1 => {
                        self.at += 1;
                        self.mode = Mode::Behind;
                        return;
                    }
                    b'}' | b']' | b')' => depth -= 1,
                    // Never valid outside a string.
                    b'<' => {
                        self.mode = Mode::Broken;
                        return;
                    }
                    _ => {}
                },
            }
            self.at += 1;
        }
        self.mode = Mode::Brackets { depth, quote, is_escaped };
    }

    fn markup(&mut self, text: &str, ends: &[&str]) -> Step {
        let rest = &text[self.at..];
        let found = ends.iter().filter_map(|end| rest.find(end).map(|at| at + end.len())).min();
        if let Some(length) = found {
            return self.go(length, Mode::Behind);
        }
        let longest = ends.iter().map(|end| end.len()).max().unwrap_or(1);
        let keep = text.floor_char_boundary(text.len().saturating_sub(longest - 1));
        self.at = self.at.max(keep);
        Step::Wait
    }

    fn behind(&mut self, text: &str) -> Step {
        let rest = &text[self.at..];
        let family = self.family;
        let mut is_partial = false;
        for (tokens, mode) in [
            (family.closers, Mode::Behind),
            (family.openers, Mode::Header(self.at, Word::None)),
            (&ENDS[..], Mode::Over(self.at)),
        ] {
            match begins_with(rest, tokens) {
                Beginning::With(length) => return self.go(length, mode),
                Beginning::Partly => is_partial = true,
                Beginning::Not => {}
            }
        }
        if let Some(Step::On) = self.begin_markup(rest) {
            return Step::On;
        }
        is_partial |= family.markup.iter().any(|(begin, _)| begins_with(rest, &[begin]) == Beginning::Partly);
        match rest.chars().next() {
            _ if is_partial => Step::Wait,
            Some('{') if family.is_sequence => {
                self.go(0, Mode::Brackets { depth: 0, quote: None, is_escaped: false })
            }
            Some(c) if c.is_whitespace() || GLUE.contains(&c) => self.go(c.len_utf8(), Mode::Behind),
            _ => Step::Talk,
        }
    }

    fn go(&mut self, length: usize, mode: Mode) -> Step {
        self.at += length;
        self.mode = mode;
        Step::On
    }
}

enum Step {
    On,
    Wait,
    Talk,
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}
