//! The shapes of common keys, for those that are in no configuration: a prefix and a run of key characters.

use std::ops::Range;

/// A prefix of well-known keys.
struct Shape {
    prefix: &'static str,
    /// The fewest key characters that must follow.
    least: usize,
    /// Whether one of them must be a digit, for prefixes that may begin an ordinary word.
    has_digit: bool,
}

const fn shape(prefix: &'static str, least: usize) -> Shape {
    Shape { prefix, least, has_digit: false }
}

const fn mixed(prefix: &'static str, least: usize) -> Shape {
    Shape { prefix, least, has_digit: true }
}

const SHAPES: &[Shape] = &[
    shape("sk-", 20),
    shape("sk_live_", 16),
    shape("rk_live_", 16),
    mixed("sk_test_", 16),
    mixed("whsec_", 24),
    shape("ghp_", 30),
    shape("gho_", 30),
    shape("ghs_", 30),
    mixed("ghu_", 30),
    mixed("ghr_", 30),
    shape("github_pat_", 30),
    shape("glpat-", 18),
    mixed("gsk_", 40),
    mixed("glsa_", 30),
    shape("xoxb-", 20),
    shape("xoxp-", 20),
    mixed("xoxa-", 20),
    mixed("xoxs-", 20),
    shape("xapp-", 20),
    mixed("xai-", 40),
    shape("AKIA", 16),
    shape("ASIA", 16),
    shape("AIza", 30),
    mixed("AGE-SECRET-KEY-1", 50),
    shape("eyJhbGciOi", 40),
    mixed("ya29.", 20),
    mixed("GOCSPX-", 20),
    mixed("SG.", 40),
    mixed("hf_", 30),
    mixed("hvs.", 24),
    mixed("npm_", 36),
    mixed("nvapi-", 40),
    mixed("ntn_", 40),
    mixed("pypi-", 40),
    mixed("pplx-", 40),
    mixed("r8_", 36),
    mixed("dop_v1_", 60),
    mixed("dckr_pat_", 20),
    mixed("shpat_", 32),
    mixed("sq0atp-", 22),
    mixed("lin_api_", 30),
    mixed("figd_", 30),
    mixed("tskey-", 20),
    mixed("tvly-", 24),
];

/// For each byte, the shapes whose prefix has it at this index, as a set of bits.
const fn having(index: usize) -> [u64; 256] {
    assert!(SHAPES.len() <= 64, "a set has 64 bits");
    let mut having = [0; 256];
    let mut at = 0;
    while at < SHAPES.len() {
        having[SHAPES[at].prefix.as_bytes()[index] as usize] |= 1 << at;
        at += 1;
    }
    having
}

/// The shapes by the first two bytes of their prefixes, which rule out nearly every word.
const FIRST: [u64; 256] = having(0);
const SECOND: [u64; 256] = having(1);

/// The length of the shortest key.
const MIN_LEN: usize = {
    let (mut shortest, mut at) = (usize::MAX, 0);
    while at < SHAPES.len() {
        let length = SHAPES[at].prefix.len() + SHAPES[at].least;
        shortest = if length < shortest { length } else { shortest };
        at += 1;
    }
    shortest
};

/// Calls back with the range of everything in the shape of a key.
pub(super) fn find(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    let mut is_in_word = false;
    while at + MIN_LEN <= text.len() {
        let shapes = FIRST[usize::from(text[at])] & SECOND[usize::from(text[at + 1])];
        if shapes != 0
            && !is_in_word
            && let Some(length) = key_length(&text[at..], shapes)
        {
            found(at..at + length);
            at += length;
            is_in_word = true;
            continue;
        }
        is_in_word = text[at].is_ascii_alphanumeric();
        at += 1;
    }
}

/// Returns the length of the key that begins here, if it has one of these shapes.
fn key_length(text: &[u8], mut shapes: u64) -> Option<usize> {
    while shapes != 0 {
        let shape = &SHAPES[shapes.trailing_zeros() as usize];
        shapes &= shapes - 1;
        let Some(body) = text.strip_prefix(shape.prefix.as_bytes()) else { continue };
        let length = body.iter().take_while(|&&byte| is_key_character(byte)).count();
        let is_fit = !shape.has_digit || body[..length].iter().any(u8::is_ascii_digit);
        if length >= shape.least && is_fit {
            return Some(shape.prefix.len() + length);
        }
    }
    None
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=')
}
