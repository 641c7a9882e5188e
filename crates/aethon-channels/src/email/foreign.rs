//! Recognises where another person's words begin in the text of a mail, by the shape of the lines and not by their
//! language.
//!
//! Programs separate a quoted or forwarded mail in a few ways: a line of dashes with words in it, a rule, the headers of
//! that mail, a line that says who wrote it and when, or `>` before each line. The words differ by language, the shapes
//! do not. A shape that is not quite certain counts all the same: the sender's text that is taken for another person's is
//! still read, while the reverse would let a stranger speak as the owner.

use super::lines::Line;
use super::phrases::{ADDRESSEE, FROM, REPEATED, SENT, SUBJECT, WROTE};

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
    pub(super) fn of(lines: &[Line]) -> Self {
        let plain = |line: &Line| {
            let visible: String = line.text.chars().filter(|&c| !is_invisible(c)).collect();
            visible.replace('\u{a0}', " ").trim().to_lowercase()
        };
        Self(lines.iter().map(plain).collect())
    }

    /// Returns what begins at this line, if anything does. In a reply more counts, because most replies repeat a mail.
    pub(super) fn at(&self, at: usize, is_reply: bool) -> Option<Beginning> {
        let lines = &self.0[at..];
        let first = lines.first()?;
        let below = || {
            let below = lines[1..].iter().position(|line| !line.is_empty());
            below.map_or(&[][..], |below| &lines[1 + below..])
        };
        if is_separator(first) {
            let is_repeated = REPEATED.iter().any(|words| first.contains(words));
            // People decorate headlines with anything but dashes.
            let counts = is_repeated
                || has_dashes(first)
                || FORWARDED.iter().any(|words| first.contains(words))
                || is_known_heading(below())
                || is_heading(below(), true);
            if counts {
                return Some(if is_repeated { Beginning::Repeated } else { Beginning::Foreign });
            }
        }
        if is_rule(first) {
            // People draw lines, too: it takes a heading below.
            let below = below();
            return match (is_known_heading(below), is_heading(below, is_reply)) {
                (true, _) => Some(Beginning::Repeated),
                (false, true) => Some(Beginning::Foreign),
                (false, false) => None,
            };
        }
        if is_evident_heading(lines) {
            return Some(Beginning::Repeated);
        }
        if is_known_heading(lines) || is_heading(lines, is_reply) || announces_heading(lines, is_reply) {
            return Some(Beginning::Foreign);
        }
        attribution(lines, is_reply).map(|(lines, certain)| Beginning::Attribution { lines, certain })
    }

    /// Returns whether a line is quoted, or the rest of a quoted line that was too long for a program on the way. In a reply,
    /// people write right below the text that they answer.
    pub(super) fn is_quoted(&self, at: usize, is_reply: bool) -> bool {
        let is_marked = |line: &String| line.starts_with(QUOTES);
        let is_rest = || {
            let before = at.checked_sub(1).map(|before| &self.0[before]);
            let goes_on = self.0.get(at + 1).is_some_and(is_marked);
            before.is_some_and(|line| is_marked(line) && line.chars().count() >= WRAPPED)
                && (goes_on || !is_reply)
        };
        is_marked(&self.0[at]) || !self.0[at].is_empty() && is_rest()
    }

    /// Returns where quoted lines begin from here on.
    pub(super) fn quotes_after(&self, from: usize) -> QuotesAfter {
        let is_marked = |line: &&String| line.starts_with(QUOTES);
        let mut rest = self.0.iter().skip(from).filter(|line| !line.is_empty()).peekable();
        match rest.peek().is_some_and(is_marked) {
            true => QuotesAfter::AtOnce,
            false if rest.any(|line| is_marked(&line)) => QuotesAfter::Later,
            false => QuotesAfter::None,
        }
    }

    /// Returns whether this line says that a forwarded mail follows, and not the one that is answered.
    pub(super) fn announces_forward(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|line| {
            is_separator(line)
                && !REPEATED.iter().any(|words| line.contains(words))
                && !WROTE.iter().any(|word| line.contains(word))
        })
    }
}

/// Where quoted lines begin below an attribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotesAfter {
    /// On the next line.
    AtOnce,
    /// Below other lines.
    Later,
    /// Nowhere.
    None,
}

/// Words in a line that a forwarded mail follows.
const FORWARDED: [&str; 2] = ["forwarded", "fwd"];

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

fn has_dashes(line: &str) -> bool {
    line.starts_with(|c| matches!(c, '-' | '\u{2010}'..='\u{2015}'))
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

/// Returns whether these lines begin with a heading that no person writes by hand: with an address or a date, or with all
/// headers that Outlook writes, in its order.
fn is_evident_heading(lines: &[String]) -> bool {
    if !is_known_heading(lines) {
        return false;
    }
    let heading = &lines[..lines.len().min(MAX_HEADING)];
    let fields: Vec<&String> =
        heading.iter().take_while(|line| line.is_empty() || label(line).is_some()).collect();
    let is_dated = |line: &&&String| is_field(line, &SENT) && has_digit(line);
    let has_address = fields.iter().any(|line| has_mail_address(line));
    let order = [&*FROM, &*SENT, &*ADDRESSEE, &*SUBJECT];
    let mut names = order.iter().peekable();
    for line in fields.iter().filter(|line| !line.is_empty()) {
        names.next_if(|names| is_field(line, names));
    }
    has_address
        || names.peek().is_none()
        || fields.iter().any(|line| is_dated(&line) && (has_date(line) || has_time(line)))
}

/// Returns whether a text has a time of day, such as `10:00` or `10.00`.
fn has_time(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let hour = digits(&rest[at..]);
        let behind = &rest[at + hour..];
        if hour <= 2 && behind.starts_with([':', '.']) && digits(&behind[1..]) == 2 {
            return true;
        }
        rest = behind;
    }
    false
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
    let is_specific = has_framed_address(&joined) || has_date(&joined);
    if known && has_digit(&joined) && (is_reply || is_specific) {
        // "On page 3 you wrote:" may be the sender's own words.
        return Some((length, is_specific || has_time(&joined)));
    }
    // What stands above the attribution must not be taken for a part of it.
    let later = lines[1..length].join(" ");
    let is_part = length == 1
        || !has_framed_address(&later) && !has_date(&later)
        || has_date(&lines[0]) && !has_date(&later) && !lines[0].ends_with(['.', '!', '?', '。']);
    if !is_part {
        return None;
    }
    let is_evident = has_framed_address(&joined) || has_date(&joined) && has_time(&joined);
    if is_reply && is_evident && WROTE.iter().any(|word| joined.contains(word)) {
        return Some((length, true));
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
