//! Marks in the source of a text that the parser obeys, and that are taken out of its tree.

use std::borrow::Cow;

use crate::address::Address;
use crate::scripts::is_southeast_asian;

/// A character that no text contains; the parser treats it as a letter.
const LETTER: char = '\u{fdd0}';

/// Ends an address: a blank for the parser, and a letter so that emphasis may begin or end beside it.
const END: &str = "\t\u{fdd0}";

/// Schemes of bare addresses.
const SCHEMES: [&str; 3] = ["http", "https", "ftp"];

/// Returns the text with its marks; owned if there are any.
pub(crate) fn marked(source: &str) -> Cow<'_, str> {
    if source.is_ascii() {
        return Cow::Borrowed(source);
    }
    let source = match source.contains(LETTER) {
        true => Cow::Owned(source.replace(LETTER, "")),
        false => Cow::Borrowed(source),
    };
    let mut marks = ends_of_addresses(&source);
    marks.extend(emphasis(&source));
    if marks.is_empty() {
        return source;
    }
    marks.sort_unstable();
    let mut out = String::with_capacity(source.len() + 4 * marks.len());
    let mut from = 0;
    for (at, mark) in marks {
        out.push_str(&source[from..at]);
        out.push_str(mark);
        from = at;
    }
    out.push_str(&source[from..]);
    Cow::Owned(out)
}

/// Returns the text without marks; owned if there were any.
pub(crate) fn unmarked(text: &str) -> Cow<'_, str> {
    match text.contains(LETTER) {
        true => Cow::Owned(text.replace(END, "").replace(LETTER, "")),
        false => Cow::Borrowed(text),
    }
}

/// A word that does not occur any more.
const NOWHERE: usize = usize::MAX;

/// The next place of a word, which is looked for once only: a text may have thousands of the one and none of the other.
struct Next {
    word: &'static str,
    place: Option<usize>,
}

impl Next {
    fn of(word: &'static str) -> Self {
        Self { word, place: None }
    }

    /// Returns the first place of the word from `at` on; [`NOWHERE`] if there is none. `at` only grows.
    fn after(&mut self, source: &str, at: usize) -> usize {
        match self.place {
            Some(place) if place >= at => place,
            _ => {
                let place = source[at..].find(self.word).map_or(NOWHERE, |found| at + found);
                *self.place.insert(place)
            }
        }
    }
}

/// Where addresses end that the parser would read on.
fn ends_of_addresses(source: &str) -> Vec<(usize, &'static str)> {
    let mut marks = Vec::new();
    let mut from = 0;
    let mut next = [Next::of("://"), Next::of("www.")];
    while let Some((start, body)) = next_address(source, from, &mut next) {
        from = body;
        // What stands in angle brackets or in the parentheses of a link has an end of its own.
        let before = &source[..start];
        if before.ends_with('<') || before.ends_with("](") || before.ends_with("]: ") {
            continue;
        }
        match Address::read(&source[start..]) {
            Address::Ends(length) => {
                from = start + length;
                marks.push((from, END));
            }
            Address::Whole(length) => from = from.max(start + length),
        }
    }
    marks
}

/// Returns where the next address begins, and what follows its scheme.
fn next_address(
    source: &str,
    from: usize,
    [next_scheme, next_www]: &mut [Next; 2],
) -> Option<(usize, usize)> {
    let bytes = source.as_bytes();
    let mut at = from;
    loop {
        let (scheme, www) = (next_scheme.after(source, at), next_www.after(source, at));
        let is_www = www < scheme;
        let found = if is_www { www } else { scheme };
        if found == NOWHERE {
            return None;
        }
        at = found + 3;
        if is_www {
            let is_begin = found == 0
                || bytes.get(found - 1).is_some_and(|b| b.is_ascii_whitespace() || b"*_~([".contains(b));
            if is_begin {
                return Some((found, found + 4));
            }
            continue;
        }
        let letters =
            bytes[..found].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).take(8).count();
        let start = found - letters;
        if start >= from && SCHEMES.iter().any(|scheme| source[start..found].eq_ignore_ascii_case(scheme)) {
            return Some((start, at));
        }
    }
}

/// Letters between marks of emphasis and punctuation, where the other side is a script without blanks: the parser knows
/// such scripts only in part.
fn emphasis(source: &str) -> Vec<(usize, &'static str)> {
    let mut marks = Vec::new();
    if !source.contains(is_southeast_asian) {
        return marks;
    }
    let is_mark = |c: char| matches!(c, '*' | '~');
    let is_punctuation =
        |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !is_southeast_asian(c) && c != '\\';
    let mut from = 0;
    while let Some(found) = source[from..].find(is_mark) {
        let start = from + found;
        let end = source.len() - source[start..].trim_start_matches(is_mark).len();
        from = end;
        let (before, after) = (source[..start].chars().next_back(), source[end..].chars().next());
        match (before, after) {
            (Some(before), Some(after)) if is_punctuation(before) && is_southeast_asian(after) => {
                marks.push((start, "\u{fdd0}"));
            }
            (Some(before), Some(after)) if is_southeast_asian(before) && is_punctuation(after) => {
                marks.push((end, "\u{fdd0}"));
            }
            _ => {}
        }
    }
    marks
}
