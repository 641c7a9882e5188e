//! The shapes of common keys, for those that no configuration holds: a prefix and a run of key characters.

use std::ops::Range;

/// Prefixes of well-known keys, with the fewest key characters that must follow.
const SHAPES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 18),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xapp-", 20),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("eyJhbGciOi", 40),
];

/// Calls back with every place where something has the shape of a key.
pub(super) fn find(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    let mut is_in_word = false;
    while let Some(&byte) = text.get(at) {
        let begins = !is_in_word && matches!(byte, b's' | b'r' | b'g' | b'x' | b'A' | b'e');
        if begins && let Some(length) = key_length(&text[at..]) {
            found(at..at + length);
            at += length;
            is_in_word = true;
            continue;
        }
        is_in_word = byte.is_ascii_alphanumeric();
        at += 1;
    }
}

fn key_length(text: &[u8]) -> Option<usize> {
    SHAPES.iter().find_map(|&(prefix, least)| {
        let body = text.strip_prefix(prefix.as_bytes())?;
        let length = body.iter().take_while(|&&byte| is_key_character(byte)).count();
        (length >= least).then_some(prefix.len() + length)
    })
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=')
}
