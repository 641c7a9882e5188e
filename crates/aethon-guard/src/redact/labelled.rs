//! Secrets recognised by what precedes them: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`, the password in
//! a URL, short `sk-` keys, and private keys between their delimiter lines.
//!
//! This is cruder than the shapes of keys, so it applies only to texts that are stored and not processed any further: a
//! `***` too many does not hurt a recording, but might hurt the output of a tool.

use std::ops::Range;

/// Labels of secrets. A label must end its word, so that `DB_PASSWORD` counts and `passwords` does not.
const LABELS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "private_key",
    "credential",
    "authorization",
];

/// Authentication schemes that precede a credential.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// The fewest characters of a labelled secret.
const MIN_COUNT: usize = 4;

/// The fewest characters of a credential after a scheme, which is an ordinary word too.
const MIN_CREDENTIAL: usize = 8;

/// The fewest characters after `sk-`.
const MIN_KEY: usize = 8;

/// The longest run of letters that is considered as a label.
const MAX_LABEL: usize = 64;

/// Calls back with the range of everything that is labelled as a secret.
pub(super) fn find(text: &str, mut found: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let place = match byte {
            b'=' | b':' => labelled(bytes, at).or_else(|| in_address(bytes, at)),
            b' ' => behind_scheme(bytes, at),
            b'-' => short_key(bytes, at).or_else(|| private_key(text, at)),
            _ => None,
        };
        at += 1;
        if let Some(place) = place {
            // Nothing is scanned twice, whatever the text consists of.
            at = at.max(place.end);
            found(place);
        }
    }
}

/// Whether this names a secret, as an object key does.
pub(super) fn is_label(word: &str) -> bool {
    LABELS.iter().any(|label| {
        let split = word.len().checked_sub(label.len()).and_then(|at| word.split_at_checked(at));
        split.is_some_and(|(before, end)| {
            end.eq_ignore_ascii_case(label)
                && before.chars().next_back().is_none_or(|before| !before.is_alphanumeric())
        })
    })
}

/// The value after `label =` or `"label":`.
fn labelled(bytes: &[u8], sign: usize) -> Option<Range<usize>> {
    let end = bytes[..sign].iter().rposition(|&byte| !matches!(byte, b' ' | b'"' | b'\'' | b'\\'))? + 1;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = bytes[..end].iter().rev().take(MAX_LABEL).take_while(|byte| is_word(byte)).count();
    let word = std::str::from_utf8(&bytes[end - length..end]).ok()?;
    if !is_label(word) {
        return None;
    }
    let opening = |byte: &u8| matches!(byte, b' ' | b'\t' | b'=' | b'"' | b'\'' | b'\\');
    let mut start = sign + 1 + bytes[sign + 1..].iter().take_while(|byte| opening(byte)).count();
    // The scheme is not secret; what follows it is.
    if let Some(scheme) = SCHEMES.iter().find(|scheme| starts_with(&bytes[start..], scheme)) {
        start += scheme.len();
        start += bytes[start..].iter().take_while(|&&byte| byte == b' ').count();
    }
    let quote = bytes[..start].last().filter(|byte| matches!(byte, b'"' | b'\''));
    // Within quotes a secret may contain blanks.
    let quoted =
        quote.and_then(|quote| bytes[start..].iter().position(|byte| byte == quote || *byte == b'\n'));
    let length = quoted.unwrap_or_else(|| bytes[start..].iter().take_while(|byte| is_value(byte)).count());
    (length >= MIN_COUNT).then_some(start..start + length)
}

/// The password in `scheme://name:password@host`; `at` is a colon.
fn in_address(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let is_part =
        |byte: &u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>');
    let name = bytes[..at].iter().rev().take(MAX_LABEL).take_while(|byte| is_part(byte) && **byte != b':');
    let start = at - name.count();
    let length = bytes[at + 1..].iter().take(256).take_while(|byte| is_part(byte)).count();
    let end = bytes[at + 1..at + 1 + length].iter().rposition(|&byte| byte == b'@')?;
    (bytes[..start].ends_with(b"://") && end > 0).then_some(at + 1..at + 1 + end)
}

/// What follows `Bearer `; `at` is the blank.
fn behind_scheme(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let is_there = SCHEMES.iter().any(|scheme| {
        let Some(start) = at.checked_sub(scheme.len()) else { return false };
        let is_whole = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
        is_whole && starts_with(&bytes[start..], scheme)
    });
    let is_token = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
    };
    let length = bytes[at + 1..].iter().take_while(|byte| is_token(byte)).count();
    (is_there && length >= MIN_CREDENTIAL).then_some(at + 1..at + 1 + length)
}

/// A key that begins with `sk-`, however short; `at` is the hyphen.
fn short_key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(2).filter(|&start| &bytes[start..at] == b"sk")?;
    let is_whole = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = bytes[at + 1..].iter().take_while(|byte| is_key(byte)).count();
    let body = &bytes[at + 1..at + 1 + length];
    let is_mixed = body.iter().any(u8::is_ascii_digit) || length >= 2 * MIN_KEY;
    (is_whole && length >= MIN_KEY && is_mixed).then_some(start..at + 1 + length)
}

/// A private key, from its first line to its last; `at` is its first hyphen.
fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    const END: &str = "-----END ";
    let rest = text.get(at..)?.strip_prefix("-----BEGIN ")?;
    let (title, _) = rest.split_once("-----")?;
    if title.len() > MAX_LABEL || !title.ends_with("PRIVATE KEY") {
        return None;
    }
    let end = text[at..].find(END).map_or(text.len(), |end| at + end);
    Some(at..end)
}

fn starts_with(bytes: &[u8], word: &str) -> bool {
    bytes.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_value(byte: &u8) -> bool {
    !byte.is_ascii_whitespace()
        && !matches!(byte, b'"' | b'\'' | b',' | b';' | b'&' | b')' | b'}' | b']' | b'<')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;

    #[test]
    fn labelled_secrets_are_masked_and_nothing_else() {
        let redactor = Redactor::default();
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact_kept(text), expected, "{text:?}");
        check("password=hunter2 and more", "password=*** and more");
        check("PASSWORD: hunter2", "PASSWORD: ***");
        check(r#"{"db_password": "two words", "x": 1}"#, r#"{"db_password": "***", "x": 1}"#);
        check(r#"{\"api_key\": \"abcd1234\"}"#, r#"{\"api_key\": \"***"}"#);
        check("curl -H 'Authorization: Bearer abcdefgh1234'", "curl -H 'Authorization: Bearer ***'");
        check("use bearer abc.def-ghi_jkl now", "use bearer *** now");
        check("postgres://me:s3cr3t@host/db", "postgres://me:***@host/db");
        check("sk-abc12345 is a key", "*** is a key");
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            "***-----END RSA PRIVATE KEY-----",
        );
        check("https://a.example/?token=abcdef&x=1", "https://a.example/?token=***&x=1");
        for harmless in [
            "",
            "the password is in the safe",
            "max_tokens=4096 and passwords: many",
            "http://host:8080/path",
            "at 10:30 a bearer bond",
            "a risk-free task-force, ask-me-anything",
            "pwd",
            "token: ok",
            "-----BEGIN CERTIFICATE-----\nMIIE",
            "ä=ö: ü- ß ",
        ] {
            check(harmless, harmless);
        }
    }

    #[test]
    fn no_text_is_cut_within_a_character() {
        let redactor = Redactor::default();
        for text in
            ["password=häßlich", "pässword: x", "bearer ääääääääää", "sk-ääää12345678", "token=\u{1f511}abcd"]
        {
            let _ = redactor.redact_kept(text);
        }
        assert_eq!(redactor.redact_kept("password=häßlich!"), "password=***");
    }

    #[test]
    fn keys_of_objects_that_name_a_secret_are_known() {
        for label in ["password", "DB_PASSWORD", "x-api-key", "client_secret", "Authorization"] {
            assert!(is_label(label), "{label}");
        }
        for word in ["passwords", "total_tokens", "path", "secretary", ""] {
            assert!(!is_label(word), "{word}");
        }
    }
}
