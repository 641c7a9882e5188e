//! Taking secrets out of text before it is logged, recorded or shown.
//!
//! Two ways at once: the values that the configuration holds (also in base64 and URL encoding), and the shapes of common
//! keys, for those it does not hold. No regular expressions: the shapes are a prefix and a run of key characters.

use std::borrow::Cow;
use std::sync::Arc;

use crate::secret::{MASK, Secret};

/// The shortest configured value that is searched for; shorter ones would tear holes into ordinary words.
const SHORTEST_VALUE: usize = 6;

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

/// Finds and masks secrets. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Arc<[Secret]>,
}

impl Redactor {
    /// Knows these values besides the common shapes.
    pub fn new(values: impl IntoIterator<Item = Secret>) -> Self {
        let mut all: Vec<Secret> = Vec::new();
        for value in values {
            let plain = value.expose().trim();
            if plain.len() >= SHORTEST_VALUE {
                all.push(Secret::new(base64(plain.as_bytes()).trim_end_matches('=')));
                let encoded = url_encode(plain);
                all.push(Secret::new(with_small_digits(&encoded)));
                all.push(Secret::new(encoded));
                all.push(Secret::new(plain));
            }
        }
        all.sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
        all.dedup_by(|a, b| a.expose() == b.expose());
        Self { values: all.into() }
    }

    /// The text with every secret replaced by `***`.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for value in &*self.values {
            if text.contains(value.expose()) {
                text = Cow::Owned(text.replace(value.expose(), MASK));
            }
        }
        match mask_shapes(&text) {
            Some(masked) => Cow::Owned(masked),
            None => text,
        }
    }

    /// Whether the text holds something that looks like a secret.
    pub fn finds_secret(&self, text: &str) -> bool {
        matches!(self.redact(text), Cow::Owned(_))
    }
}

fn mask_shapes(text: &str) -> Option<String> {
    let mut masked: Option<String> = None;
    for &(prefix, least) in SHAPES {
        let mut from = 0;
        loop {
            let current = masked.as_deref().unwrap_or(text);
            let Some(start) = current[from..].find(prefix).map(|at| at + from) else { break };
            let body = start + prefix.len();
            let length = current[body..].bytes().take_while(|&byte| is_key_character(byte)).count();
            let begins_word = !current[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
            if length >= least && begins_word {
                let mut next = current.to_owned();
                next.replace_range(start..body + length, MASK);
                from = start + MASK.len();
                masked = Some(next);
            } else {
                from = body;
            }
        }
    }
    masked
}

fn is_key_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=')
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) & 63;
            out.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[digit as usize]) });
        }
    }
    out
}

fn url_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The other spelling of an encoded text: `%2f` instead of `%2F`.
fn with_small_digits(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        out.push('%');
        out.push_str(&digits.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_values_go_in_every_coding() {
        let redactor = Redactor::new([Secret::new("pa ss+word!")]);
        assert_eq!(redactor.redact("x pa ss+word! y"), "x *** y");
        assert_eq!(redactor.redact("q=pa%20ss%2Bword%21&"), "q=***&");
        assert_eq!(redactor.redact("q=pa%20ss%2bword%21&"), "q=***&");
        assert_eq!(redactor.redact("cGEgc3Mrd29yZCE="), "***=");
        assert!(matches!(redactor.redact("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn common_keys_are_known_by_their_shape() {
        let check =
            |text: &str, expected: &str| assert_eq!(Redactor::default().redact(text), expected, "{text}");
        check("key sk-abcdefghijklmnopqrstuvwx end", "key *** end");
        check("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "***");
        check("AKIAIOSFODNN7EXAMPLE", "***");
        check("a task-force of risk-averse people", "a task-force of risk-averse people");
        check("sk-short", "sk-short");
        check("sk-aaaaaaaaaaaaaaaaaaaaaaaa sk-bbbbbbbbbbbbbbbbbbbbbbbb", "*** ***");
    }

    #[test]
    fn short_values_do_not_tear_holes() {
        assert_eq!(Redactor::new([Secret::new("abc")]).redact("abcabc"), "abcabc");
    }
}
