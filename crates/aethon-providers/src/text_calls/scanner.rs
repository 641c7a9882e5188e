//! Processes a response as it arrives: text that cannot be a call is passed on at once; what may be one is held until
//! that is clear.
//!
//! Calls end a response. Words after them make all of it talk about calls, which is text. A broken call in special
//! tokens stays a call, with arguments that are not an object: the toolbox answers it and the model can repair it,
//! while the person never sees the tokens.

use super::call::{MAX_LEN, Output};
use super::families::harmony::Harmony;
use super::families::plain::{self, Start};
use super::families::table::{Opening, PLAIN, opening};
use super::family::{Beginning, begins_with};
use super::prose::Prose;
use super::reading::{Reading, Strictness};
use super::region::{Region, Verdict};

/// Longer pieces are processed in parts.
pub(super) const PIECE: usize = 8 * 1024;
/// More whitespace than a response begins with.
const BLANKS: usize = 64;

/// What begins and ends thoughts in a text.
const THOUGHTS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<|START_THINKING|>", "<|END_THINKING|>")];
/// What ends thoughts; their beginning may have been part of the prompt.
const THOUGHT_ENDS: [&str; 3] = ["</think>", "</thinking>", "<|END_THINKING|>"];

/// The reading position in one response.
#[derive(Debug)]
pub(super) struct Scanner {
    reading: Reading,
    held: String,
    state: ScanState,
    prose: Prose,
    /// Whether there was text other than thoughts.
    has_text: bool,
    /// How many bytes of the held text are known not to begin a call.
    no_call_before: usize,
    thoughts_end: Option<&'static str>,
}

#[derive(Debug)]
enum ScanState {
    /// At the beginning of a response, or after thoughts.
    Start,
    Prose,
    /// In what may be a call.
    Region(Region),
    /// After the end of the response, or in a call that is too long: further text is dropped.
    Full(Region),
    Harmony(Harmony),
    /// The search for calls has ended.
    Off,
}

impl Scanner {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            reading,
            held: String::new(),
            state: ScanState::Start,
            prose: Prose::default(),
            has_text: false,
            no_call_before: 0,
            thoughts_end: None,
        }
    }

    /// Processes more of the response.
    pub(super) fn push(&mut self, text: &str, output: &mut Vec<Output>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.ceil_char_boundary(PIECE));
            rest = behind;
            match &mut self.state {
                ScanState::Off => emit(piece.to_owned(), output),
                ScanState::Full(_) => {}
                ScanState::Harmony(harmony) => harmony.push(piece, output),
                _ => {
                    self.held.push_str(piece);
                    self.advance(output);
                }
            }
        }
    }

    /// Handles the end of the response.
    pub(super) fn finish(&mut self, output: &mut Vec<Output>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, ScanState::Off) {
            ScanState::Region(region) | ScanState::Full(region) => self.conclude(&region, held, output),
            ScanState::Harmony(mut harmony) => harmony.finish(output),
            ScanState::Start | ScanState::Prose | ScanState::Off => emit(held, output),
        }
    }

    /// Handles an aborted response. Possible text is released; an incomplete call is dropped, so that the request can
    /// be sent again.
    pub(super) fn abort(&mut self, output: &mut Vec<Output>) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, ScanState::Off) {
            ScanState::Region(region) if is_plain(&region) => emit(held, output),
            ScanState::Start | ScanState::Prose | ScanState::Off => emit(held, output),
            ScanState::Region(_) | ScanState::Full(_) | ScanState::Harmony(_) => {}
        }
    }

    /// The model makes proper calls, so everything held and everything that follows is text.
    pub(super) fn give_up(&mut self, output: &mut Vec<Output>) {
        emit(std::mem::take(&mut self.held), output);
        self.state = ScanState::Off;
    }

    /// The text so far was a thought, so the response begins here.
    pub(super) fn restart(&mut self, output: &mut Vec<Output>) {
        emit(std::mem::take(&mut self.held), output);
        *self = Self::new(self.reading.clone());
    }

    /// Returns how many bytes are held back.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    fn advance(&mut self, output: &mut Vec<Output>) {
        loop {
            let is_done = match &mut self.state {
                ScanState::Start => self.start(),
                ScanState::Prose => self.prose(output),
                ScanState::Region(_) => self.region(output),
                ScanState::Harmony(harmony) => {
                    harmony.push(&std::mem::take(&mut self.held), output);
                    true
                }
                ScanState::Full(_) | ScanState::Off => true,
            };
            if is_done {
                return;
            }
        }
    }

    /// Looks for plain calls. Returns whether more input is needed.
    fn start(&mut self) -> bool {
        let text = self.held.trim_start();
        let blanks = self.held.len() - text.len();
        if blanks > BLANKS {
            self.state = ScanState::Prose;
            return false;
        }
        if text.is_empty() || is_partly_token(text) {
            return true;
        }
        let is_plain = self.reading.strictness == Strictness::Lenient && !self.has_text;
        match plain::start(text, &self.reading.tools) {
            Start::Unclear if is_plain => return true,
            Start::Call(at) if is_plain => {
                self.state = ScanState::Region(Region::at_brackets(&PLAIN, blanks + at));
            }
            _ => self.state = ScanState::Prose,
        }
        false
    }

    /// Processes text up to something that may be a call. Returns whether more input is needed.
    fn prose(&mut self, output: &mut Vec<Output>) -> bool {
        let mut at = 0;
        while let Some(c) = self.held[at..].chars().next() {
            if matches!(c, '<' | '[') && at >= self.no_call_before {
                match self.token(at) {
                    Token::Partial => {
                        self.release(at, output);
                        return true;
                    }
                    Token::Call(region) => {
                        let has_words = self.has_text || !self.held[..at].trim().is_empty();
                        // Whitespace before a whole response means nothing, but is held in case the response turns
                        // out to be text.
                        let blanks = if has_words { 0 } else { at };
                        self.release(at - blanks, output);
                        self.no_call_before = 0;
                        self.state = ScanState::Region(region.behind_blanks(blanks));
                        return false;
                    }
                    Token::Harmony => {
                        self.release(at, output);
                        self.state = ScanState::Harmony(Harmony::new(self.reading.clone()));
                        return false;
                    }
                    Token::ThoughtEnd(length) => {
                        self.prose.restart();
                        self.no_call_before = 0;
                        self.release(at + length, output);
                        // What preceded the end were thoughts, even if their beginning was in the prompt.
                        self.has_text = false;
                        self.state = ScanState::Start;
                        return false;
                    }
                    Token::Other => {}
                }
            }
            self.prose.pass(c);
            if self.thoughts_end.is_none() && !c.is_whitespace() {
                self.has_text = true;
            }
            at += c.len_utf8();
        }
        self.release(at, output);
        true
    }

    /// Returns the token at an opening bracket.
    fn token(&mut self, at: usize) -> Token {
        let text = &self.held[at..];
        let ends: &[&str] = match &self.thoughts_end {
            Some(end) => std::slice::from_ref(end),
            None => &THOUGHT_ENDS,
        };
        match begins_with(text, ends) {
            Beginning::With(length) => {
                self.thoughts_end = None;
                return Token::ThoughtEnd(length);
            }
            Beginning::Partly => return Token::Partial,
            Beginning::Not => {}
        }
        let c = if text.starts_with('<') { '<' } else { '[' };
        if self.thoughts_end.is_some() || !self.prose.is_open(c) {
            return Token::Other;
        }
        for (begin, end) in THOUGHTS {
            match begins_with(text, &[begin]) {
                Beginning::With(_) if !self.has_text => {
                    self.thoughts_end = Some(end);
                    return Token::Other;
                }
                Beginning::Partly => return Token::Partial,
                Beginning::With(_) | Beginning::Not => {}
            }
        }
        let is_allowed = !self.has_text || self.reading.strictness != Strictness::Whole;
        match opening(text) {
            Opening::Partial => Token::Partial,
            Opening::Family(family) if is_allowed => {
                Token::Call(Region::new(family, self.prose.is_at_line_start()))
            }
            Opening::Harmony if is_allowed => Token::Harmony,
            _ => Token::Other,
        }
    }

    /// Continues in what may be a call. Returns whether more input is needed.
    fn region(&mut self, output: &mut Vec<Output>) -> bool {
        let ScanState::Region(mut region) = std::mem::replace(&mut self.state, ScanState::Prose) else {
            return false;
        };
        match region.advance(&self.held) {
            Verdict::Talk(at) => {
                self.no_call_before = at;
                false
            }
            Verdict::Hold if self.held.len() <= MAX_LEN => {
                self.state = ScanState::Region(region);
                true
            }
            Verdict::Hold if is_plain(&region) => {
                self.state = ScanState::Off;
                emit(std::mem::take(&mut self.held), output);
                true
            }
            Verdict::Hold => {
                self.state = ScanState::Full(region);
                true
            }
            Verdict::Over(end) => {
                self.held.truncate(end);
                self.state = ScanState::Full(region);
                true
            }
        }
    }

    /// Emits the calls of a complete text, or the text.
    fn conclude(&mut self, region: &Region, held: String, output: &mut Vec<Output>) {
        // A lone opener was cut off before it said anything.
        if region.is_bare() && region.is_at_line_start {
            return;
        }
        let (text, tools) = (held.trim_start(), &self.reading.tools);
        let calls =
            if is_plain(region) { plain::parse(text, tools) } else { region.family.calls(text, tools) };
        match calls {
            Some(calls) if !self.reading.is_quotation(&calls) => {
                output.extend(calls.into_iter().map(Output::Call));
            }
            _ => emit(held, output),
        }
    }

    fn release(&mut self, length: usize, output: &mut Vec<Output>) {
        let rest = self.held.split_off(length);
        emit(std::mem::replace(&mut self.held, rest), output);
        self.no_call_before = self.no_call_before.saturating_sub(length);
    }
}

enum Token {
    Partial,
    Call(Region),
    Harmony,
    ThoughtEnd(usize),
    Other,
}

fn is_plain(region: &Region) -> bool {
    std::ptr::eq(region.family, &raw const PLAIN)
}

fn emit(text: String, output: &mut Vec<Output>) {
    if !text.is_empty() {
        output.push(Output::Text(text));
    }
}

/// Returns whether a text may be the beginning of a token.
fn is_partly_token(text: &str) -> bool {
    matches!(opening(text), Opening::Partial)
        || THOUGHTS.iter().any(|(begin, _)| begins_with(text, &[begin]) == Beginning::Partly)
}
