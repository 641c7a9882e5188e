//! Decides whether two texts say the same, ignoring case, blanks and punctuation.
//!
//! Punctuation that carries meaning in numbers stays: 1.5 is not 15, and -5 is not 5.

use std::iter::Peekable;

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Returns a fingerprint by which texts are compared (FNV-1a of the significant characters, the same on every machine).
/// `None` for a text without a single letter, digit or sign.
pub fn fingerprint(text: &str) -> Option<[u8; 16]> {
    let mut hash = OFFSET;
    let mut is_empty = true;
    let mut buffer = [0; 4];
    for c in counting(text) {
        is_empty = false;
        for &byte in c.encode_utf8(&mut buffer).as_bytes() {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    (!is_empty).then(|| hash.to_be_bytes())
}

/// The significant characters.
fn counting(text: &str) -> impl Iterator<Item = char> {
    let mut counting = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut last: Option<char> = None;
    let mut is_parted = true;
    while let Some(c) = chars.next() {
        if !is_dropped(c) {
            let both_digits = last.is_some_and(char::is_numeric) && c.is_numeric();
            if is_parted && both_digits {
                counting.push(' ');
            }
            counting.extend(c.to_lowercase());
            last = Some(c);
            is_parted = false;
        } else {
            if is_sign(c, &mut chars) && is_parted {
                counting.push('-');
            }
            is_parted = true;
        }
    }
    counting.into_iter()
}

/// Whether the character is a minus before a number.
fn is_sign(c: char, rest: &mut Peekable<impl Iterator<Item = char>>) -> bool {
    matches!(c, '-' | '−') && rest.peek().is_some_and(|next| next.is_numeric())
}

fn is_dropped(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '!' | '"'
                | '\''
                | '('
                | ')'
                | '*'
                | ','
                | '-'
                | '.'
                | '/'
                | ':'
                | ';'
                | '?'
                | '['
                | '\\'
                | ']'
                | '_'
                | '`'
                | '{'
                | '}'
        )
        || matches!(c, '¡' | '¿' | '«' | '»' | '·' | '…' | '−' | '\u{200b}'..='\u{200f}' | '\u{2010}'..='\u{2027}' | '\u{2039}' | '\u{203a}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '！' | '，' | '．' | '：' | '；' | '？' | '・')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_blanks_and_punctuation_do_not_count_and_numbers_do() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(fingerprint(one) == fingerprint(other), same, "{one:?} and {other:?}");
        };
        check("I like tea.", "  i LIKE\n tea!! ", true);
        check("e-mail: ada@example.org", "Email ada@example.org", true);
        check("“Don’t” — never…", "\"Don't\" - never", true);
        check("Größe", "GRÖSSE", false);
        check("ÄRGER", "ärger", true);
        check("it costs 1.5", "it costs 15", false);
        check("it costs 1.5", "it costs 1,5", true);
        check("it was -5 degrees", "it was 5 degrees", false);
        check("2026-11-05", "2026 11 05", true);
        check("C++", "C", false);
        check("5 €", "5€", true);
        check("5 €", "5 $", false);
        check("I like tea", "I like teas", false);
        check("東京。", "東京", true);
    }

    #[test]
    fn a_text_without_anything_has_none() {
        assert_eq!(fingerprint(" …!? "), None);
        assert!(fingerprint("👍").is_some());
    }
}
