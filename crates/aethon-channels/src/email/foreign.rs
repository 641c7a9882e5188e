//! Recognises where another person's words begin in the text of a mail, by the shape of the lines and not by their
//! language.
//!
//! Programs separate a quoted or forwarded mail in a few ways: a line of dashes with words in it, a rule, the headers of
//! that mail, a line that says who wrote it and when, or `>` before each line. The words differ by language, the shapes
//! do not. A shape that is not quite certain counts all the same: text of the sender that is taken for somebody else's is
//! still read, while the reverse would let a stranger speak as the owner.

use super::phrases::{FROM, REPEATED, SENT, SUBJECT};

/// What begins at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// The mail that this one answers, in a form that is certain.
    Repeated,
    /// Another person's text.
    Foreign,
    /// This many lines that attribute what follows. `certain`: no sentence of the sender looks like this.
    Attribution {
        /// The number of lines.
        lines: usize,
        /// Whether it is certain.
        certain: bool,
    },
}

/// How many lines after the first header the others may be.
const MAX_HEADING: usize = 12;
/// This many lines in the form of headers are a heading in any language.
const HEADING_OF_ANY_LANGUAGE: usize = 4;
/// The longest name of a header, in characters.
const MAX_LABEL: usize = 32;
/// How many lines an attribution may span, and how many characters.
const MAX_ATTRIBUTION: (usize, usize) = (4, 400);
/// This many underscores or dashes alone on a line separate mails.
const MIN_RULE: usize = 20;
/// A quoted line of this many characters was probably wrapped on its way.
const WRAPPED: usize = 66;

/// How attribution lines begin, and a word they contain: certain even without an address.
const ATTRIBUTIONS: [(&str, &str); 6] = [
    ("on ", "wrote:"),
    ("am ", "schrieb"),
    ("le ", "a écrit"),
    ("el ", "escribió"),
    ("il ", "ha scritto"),
    ("op ", "schreef"),
];

/// The lines of a text, prepared for looking at their shape.
pub(super) struct Shapes(Vec<String>);

impl Shapes {
    /// Prepares lines: lowercased, without blanks around them and without characters that show nothing.
    pub(super) fn of(lines: &[&str]) -> Self {
        let plain = |line: &&str| {
            let visible: String = line.chars().filter(|&c| !is_invisible(c)).collect();
            visible.replace('\u{a0}', " ").trim().to_lowercase()
        };
        Self(lines.iter().map(plain).collect())
    }

    /// Returns what begins at this line, if anything does. In a reply more counts, because most replies repeat a mail.
    pub(super) fn at(&self, at: usize, is_reply: bool) -> Option<Beginning> {
        let lines = &self.0[at..];
        let first = lines.first()?;
        if is_separator(first) {
            let is_repeated = REPEATED.iter().any(|words| first.contains(words));
            return Some(if is_repeated { Beginning::Repeated } else { Beginning::Foreign });
        }
        if is_rule(first) {
            let below = lines[1..].iter().position(|line| !line.is_empty()).map(|below| &lines[1 + below..]);
            let is_repeated = below.is_some_and(is_known_heading);
            return Some(if is_repeated { Beginning::Repeated } else { Beginning::Foreign });
        }
        if is_known_heading(lines) {
            return Some(Beginning::Repeated);
        }
        if is_heading(lines, is_reply) || announces_heading(lines, is_reply) {
            return Some(Beginning::Foreign);
        }
        attribution(lines, is_reply).map(|(lines, certain)| Beginning::Attribution { lines, certain })
    }

    /// Returns whether a line is quoted, or the rest of a quoted line that was too long for a program on the way.
    pub(super) fn is_quoted(&self, at: usize) -> bool {
        let is_marked = |line: &String| line.starts_with(QUOTES);
        let is_rest = || {
            let before = at.checked_sub(1).map(|before| &self.0[before]);
            before.is_some_and(|line| is_marked(line) && line.chars().count() >= WRAPPED)
        };
        is_marked(&self.0[at]) || !self.0[at].is_empty() && is_rest()
    }

    /// Returns whether any of the lines from here on is quoted.
    pub(super) fn has_quotes(&self, from: usize) -> bool {
        self.0.iter().skip(from).any(|line| line.starts_with(QUOTES))
    }
}

/// The marks before quoted lines.
pub(super) const QUOTES: [char; 4] = ['>', '＞', '»', '›'];

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '=' | '*' | '_' | '~')
}

/// `-------- Words --------`, with at least four on each side.
fn is_separator(line: &str) -> bool {
    let inner = line.trim_matches(is_dash);
    let before = line.chars().take_while(|&c| is_dash(c)).count();
    let behind = line.chars().rev().take_while(|&c| is_dash(c)).count();
    // Some programs end the line with nothing.
    let is_framed = before >= 4 && behind >= 4 || before >= 8 && behind == 0;
    is_framed && inner.chars().any(char::is_alphabetic)
}

fn is_rule(line: &str) -> bool {
    line.chars().count() >= MIN_RULE && line.chars().all(|c| matches!(c, '_' | '-' | '\u{2014}'))
}

/// Returns whether these lines begin with author, date and subject of another mail, in a known language.
fn is_known_heading(lines: &[String]) -> bool {
    let Some((first, rest)) = lines.split_first() else { return false };
    let below = &rest[..rest.len().min(MAX_HEADING)];
    let has = |names: &[&str]| below.iter().any(|line| is_field(line, names));
    is_field(first, &FROM) && has(&SENT) && has(&SUBJECT)
}

fn is_field(line: &str, names: &[&str]) -> bool {
    label(line).is_some_and(|(name, _)| names.contains(&name))
}

/// Splits a line in the form of a header, possibly in bold.
fn label(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once([':', '：'])?;
    let is_frame = |c: char| c == '*' || c == '_' || c.is_whitespace();
    let name = name.trim_matches(is_frame);
    let is_name = !name.is_empty()
        && name.chars().count() <= MAX_LABEL
        && name.split_whitespace().count() <= 4
        && name.chars().any(char::is_alphabetic)
        && !name.contains(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | ';' | '@' | '<' | '/'));
    (is_name && !value.starts_with("//")).then(|| (name, value.trim_matches(is_frame)))
}

/// Returns whether these lines begin with something in the form of headers, whatever the language.
fn is_heading(lines: &[String], is_reply: bool) -> bool {
    let Some((first, _)) = lines.split_first() else { return false };
    if label(first).is_none() {
        return false;
    }
    let (mut labels, mut has_address, mut is_after_blank) = (0, false, false);
    for line in lines.iter().take(MAX_HEADING) {
        match label(line) {
            Some((_, value)) => {
                labels += 1;
                has_address |= has_mail_address(value);
            }
            // Some programs put a blank line between headers, or the addresses on lines of their own.
            None if line.is_empty() && !is_after_blank && labels < 2 => {}
            None if line.contains('@') => has_address |= has_mail_address(line),
            None => break,
        }
        is_after_blank = line.is_empty();
    }
    let enough = if is_reply { HEADING_OF_ANY_LANGUAGE - 1 } else { HEADING_OF_ANY_LANGUAGE };
    labels >= enough || labels >= 2 && has_address
}

/// Returns whether a line ends with a colon and headers follow: `Begin forwarded message:`.
fn announces_heading(lines: &[String], is_reply: bool) -> bool {
    let Some((first, rest)) = lines.split_first() else { return false };
    let below = rest.iter().position(|line| !line.is_empty()).unwrap_or(rest.len());
    let rest = &rest[below..];
    first.ends_with([':', '：']) && below <= 2 && (is_known_heading(rest) || is_heading(rest, is_reply))
}

/// Returns the number of attribution lines at the start, and whether they are certain.
fn attribution(lines: &[String], is_reply: bool) -> Option<(usize, bool)> {
    let most = lines.len().min(MAX_ATTRIBUTION.0);
    let length = (1..=most)
        .take_while(|&length| !lines[length - 1].is_empty())
        .find(|&length| lines[length - 1].ends_with([':', '：']))?;
    let joined = lines[..length].join(" ");
    if joined.chars().count() > MAX_ATTRIBUTION.1 {
        return None;
    }
    let known = ATTRIBUTIONS.iter().any(|(start, verb)| joined.starts_with(start) && joined.contains(verb));
    if known && has_digit(&joined) && (is_reply || has_framed_address(&joined) || has_date(&joined)) {
        return Some((length, true));
    }
    // What stands above the attribution must not be taken for a part of it.
    let later = lines[1..length].join(" ");
    let is_part = length == 1
        || !has_framed_address(&later) && !has_date(&later)
        || has_date(&lines[0]) && !has_date(&later) && !lines[0].ends_with(['.', '!', '?', '。']);
    if !is_part {
        return None;
    }
    let is_followed =
        lines[length..].iter().find(|line| !line.is_empty()).is_some_and(|line| line.starts_with(QUOTES));
    match (has_framed_address(&joined), has_date(&joined)) {
        (true, true) => Some((length, true)),
        (true, false) => Some((length, false)),
        (false, true) if is_reply || is_followed => Some((length, false)),
        (false, false) if is_followed && length == 1 && is_reply => Some((length, false)),
        _ => None,
    }
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// Returns whether a text contains something like `ada@x.example`.
fn has_mail_address(text: &str) -> bool {
    text.split(|c: char| {
        c.is_whitespace() || matches!(c, '<' | '>' | '(' | ')' | '[' | ']' | ',' | ';' | '"')
    })
    .any(|word| word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.')))
}

/// Returns whether a text contains an address in brackets, as programs write it.
fn has_framed_address(text: &str) -> bool {
    text.split(['<', '(', '[']).skip(1).any(|piece| {
        let inner = piece.split(['>', ')', ']']).next().unwrap_or_default();
        has_mail_address(inner.trim_start_matches("mailto:"))
    })
}

/// Returns whether a text contains a year or a date in numbers.
fn has_date(text: &str) -> bool {
    let numbers: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).collect();
    let is_year = |number: &&str| number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let is_date = |word: &str| {
        let parts: Vec<&str> =
            word.trim_matches(|c: char| !c.is_ascii_digit()).split(['.', '/', '-']).collect();
        parts.len() == 3
            && parts
                .iter()
                .all(|part| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
    };
    numbers.iter().any(is_year) || text.split_whitespace().any(is_date)
}
