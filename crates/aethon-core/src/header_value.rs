//! What is odd about a value that is sent in an HTTP header: a key that was pasted with its quotation marks, a token
//! that ends in an invisible character.
//!
//! Such a value is refused by the service at best, as a wrong key, and by the HTTP client at worst, without a word
//! about the header. So the oddity is named before anything is sent, and what surely is no part of a key is removed.
//! The value itself never appears.

use std::fmt;

/// What is odd about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// Quotation marks around it.
    Quotes,
    /// The word that belongs before a key in a header.
    Bearer,
    /// A character that nobody sees.
    Invisible(char),
    /// A line break within it.
    LineBreak,
    /// A blank within it.
    Blank,
    /// A control character.
    Control(char),
    /// A character that no header can hold.
    Foreign(char),
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |c: char| u32::from(c);
        match *self {
            Self::Quotes => f.write_str("has quotation marks around it"),
            Self::Bearer => f.write_str("begins with the word `Bearer`"),
            Self::Invisible(c) => write!(f, "holds the invisible character U+{:04X}", code(c)),
            Self::LineBreak => f.write_str("holds a line break"),
            Self::Blank => f.write_str("holds a blank"),
            Self::Control(c) => write!(f, "holds the control character U+{:04X}", code(c)),
            Self::Foreign(c) => {
                write!(f, "holds the character U+{:04X}, which is no letter of the ASCII alphabet", code(c))
            }
        }
    }
}

/// A key as it is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanedKey {
    /// The key; empty if it is as it was given.
    pub key: String,
    /// What was removed.
    pub removed: Vec<Oddity>,
}

/// The marks that people and editors put around a text.
const QUOTES: [char; 10] = ['"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»'];

/// Removes from a key what surely is no part of it: quotation marks around it, the word `Bearer`, and invisible
/// characters. Blanks and line breaks around it mean nothing and are removed without being mentioned.
pub fn cleaned_key(given: &str) -> CleanedKey {
    let mut removed = Vec::new();
    let mut key: String = given.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned();
    if let Some(hidden) = key.chars().find(|c| is_invisible(*c)) {
        removed.push(Oddity::Invisible(hidden));
        key.retain(|c| !is_invisible(c));
    }
    loop {
        let bare = key.trim();
        let unquoted = bare.trim_matches(QUOTES);
        if unquoted.len() < bare.len() {
            note(&mut removed, Oddity::Quotes);
            key = unquoted.to_owned();
        } else if let Some(rest) = without_bearer(bare) {
            note(&mut removed, Oddity::Bearer);
            key = rest.to_owned();
        } else {
            key = bare.to_owned();
            break;
        }
    }
    if removed.is_empty() { CleanedKey::default() } else { CleanedKey { key, removed } }
}

/// Returns what keeps a text from being a key, if anything does.
pub fn key_oddity(key: &str) -> Option<Oddity> {
    let key = key.trim_matches(|c: char| c.is_ascii_whitespace());
    header_oddity(key).or_else(|| key.contains([' ', '\t']).then_some(Oddity::Blank))
}

/// Returns what keeps a text from being the value of a header, if anything does. Blanks and line breaks around it mean
/// nothing.
pub fn header_oddity(value: &str) -> Option<Oddity> {
    value.trim_matches(|c: char| c.is_ascii_whitespace()).chars().find_map(|c| match c {
        '\n' | '\r' => Some(Oddity::LineBreak),
        '\t' => None,
        c if is_invisible(c) => Some(Oddity::Invisible(c)),
        c if c.is_control() => Some(Oddity::Control(c)),
        c if !c.is_ascii() => Some(Oddity::Foreign(c)),
        _ => None,
    })
}

fn note(removed: &mut Vec<Oddity>, oddity: Oddity) {
    if !removed.contains(&oddity) {
        removed.push(oddity);
    }
}

fn without_bearer(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    first.eq_ignore_ascii_case("bearer").then_some(rest)
}

/// Returns whether a character shows as nothing, or as a blank that is none.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180e}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stray_characters_of_a_key_are_removed_and_named() {
        let check = |given: &str, removed: &[Oddity]| {
            let cleaned = cleaned_key(given);
            assert_eq!(cleaned, CleanedKey { key: "sk-key".into(), removed: removed.to_vec() }, "{given:?}");
        };
        check("\"sk-key\"", &[Oddity::Quotes]);
        check("'sk-key'\n", &[Oddity::Quotes]);
        check("“sk-key”", &[Oddity::Quotes]);
        check("\"sk-key", &[Oddity::Quotes]);
        check("Bearer sk-key", &[Oddity::Bearer]);
        check("bearer  \"sk-key\"", &[Oddity::Quotes, Oddity::Bearer]);
        check("\"Bearer sk-key\"", &[Oddity::Quotes, Oddity::Bearer]);
        check("sk-key\u{200b}", &[Oddity::Invisible('\u{200b}')]);
        check("\u{feff}sk-key", &[Oddity::Invisible('\u{feff}')]);
        check("sk\u{ad}-key\u{a0}", &[Oddity::Invisible('\u{ad}')]);
        for fine in ["sk-key", " sk-key\r\n", "", "bearer", "a b", "base64=="] {
            assert_eq!(cleaned_key(fine), CleanedKey::default(), "{fine:?}");
        }
    }

    #[test]
    fn a_key_is_one_word_of_ascii() {
        let check = |key: &str, expected: Option<Oddity>| assert_eq!(key_oddity(key), expected, "{key:?}");
        check("sk-key_9.~+/=", None);
        check(" sk-key\r\n", None);
        check("sk-key sk-other", Some(Oddity::Blank));
        check("sk-\nkey", Some(Oddity::LineBreak));
        check("sk-\u{7}key", Some(Oddity::Control('\u{7}')));
        check("sk-kеy", Some(Oddity::Foreign('\u{435}')));
        check("sk-key\u{2060}x", Some(Oddity::Invisible('\u{2060}')));
        assert_eq!(header_oddity("Bearer sk-key"), None);
        assert_eq!(header_oddity("Bearer sk-key\u{200b}"), Some(Oddity::Invisible('\u{200b}')));
    }

    #[test]
    fn an_oddity_is_described_without_the_value() {
        let check = |oddity: Oddity, words: &str| assert!(oddity.to_string().contains(words), "{oddity}");
        check(Oddity::Invisible('\u{200b}'), "U+200B");
        check(Oddity::Foreign('\u{435}'), "U+0435");
        check(Oddity::Quotes, "quotation marks");
    }
}
