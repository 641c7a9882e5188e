//! Shows a rejected value so that its writer recognises it, without giving away a key that was pasted in the wrong place.
//!
//! Messages reach terminals, logs and pages, and a mistyped name or two swapped lines may have put a key there. Words,
//! numbers, addresses and near misses of an allowed word are shown; of what might be a key, only its length and how it begins.

use strsim::osa_distance;

/// The longest text that is shown whole, in characters; addresses and paths may be longer.
const MAX_WORDS: usize = 24;
const MAX_PLACE: usize = 80;
/// From this many letters and digits in a row, a mixture of both may be a key; in addresses and paths more are usual.
const MIN_MIXED: usize = 7;
const MIN_MIXED_IN_PLACE: usize = 10;
/// From this many on, letters whose case changes within may be a key, and anything from this many.
const MIN_CASES: usize = 12;
const MIN_ANYTHING: usize = 21;
/// How many characters of what might be a key are shown at most.
const MAX_HINT: usize = 3;

/// Describes a rejected text, given the values allowed in its place.
pub(crate) fn described(text: &str, allowed: &str) -> String {
    if is_plain(text) || is_near(text, allowed) {
        return format!("the string {text:?}");
    }
    let count = text.chars().count();
    let hint: String = text.chars().take(MAX_HINT.min(count / 4)).collect();
    format!("a string of {count} characters that begins with {hint:?} and may be a key, so it is not shown")
}

/// Describes a rejected text.
pub(crate) fn quoted(text: &str) -> String {
    described(text, "")
}

/// Returns the text, or dots if it may be a key.
pub fn shown(text: &str) -> &str {
    if is_plain(text) { text } else { "..." }
}

fn is_plain(text: &str) -> bool {
    let count = text.chars().count();
    let is_place = text.contains(['/', '.', ':']) && !text.contains(char::is_whitespace);
    let (most, mixed) = if is_place { (MAX_PLACE, MIN_MIXED_IN_PLACE) } else { (MAX_WORDS, MIN_MIXED) };
    count <= most && text.split(|c: char| !c.is_alphanumeric()).all(|run| !may_be_key(run, mixed))
}

fn may_be_key(run: &str, mixed: usize) -> bool {
    let count = run.chars().count();
    let has = |is: fn(char) -> bool| run.chars().any(is);
    let is_mixed = has(char::is_alphabetic) && has(|c| c.is_ascii_digit());
    let changes_case = run.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    (is_mixed && count >= mixed) || (changes_case && count >= MIN_CASES) || count >= MIN_ANYTHING
}

/// Returns whether a text is an allowed word with a slip.
fn is_near(text: &str, allowed: &str) -> bool {
    let length = text.chars().count();
    let words = allowed.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    length <= MAX_WORDS
        && words
            .filter(|word| word.len() > 2)
            .any(|word| osa_distance(&text.to_lowercase(), word) <= word.len() / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_wrong_place_is_not_repeated() {
        for key in [
            "hunter2",
            "Tr0ub4dor&3",
            "correct horse battery staple",
            "sk-ant-api03-Zm9vYmFyYmF6cXV4",
            "sk-proj-4f8b2c9d1e",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "xoxb-123456789012-abcdefABCDEF",
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "3f2b8c1e-9d4a-4b7c-8e6f-0a1b2c3d4e5f",
            "deadbeefdeadbeefdeadbeefdeadbeef",
            "ZmFrZWtleWZvcnRlc3Rz",
        ] {
            let said = described(key, "one of openai, anthropic, ollama");
            assert!(!said.contains(key), "{said}");
            let most = key.len().min(MAX_HINT + 1);
            assert!(!said.contains(&key[..most]), "{said}");
            assert_eq!(shown(key), "...");
        }
    }

    #[test]
    fn harmless_values_are_shown() {
        for text in [
            "",
            "abc",
            "opnai",
            "on please",
            "12 GBs",
            "gpt-5.1",
            "llama3",
            "claude-sonnet-4-20250514",
            "127.0.0.1:80",
            "https://home1234.example/v1/chat",
            "/srv/models/anna/config",
            "home.example:8443",
            "18790",
        ] {
            assert_eq!(quoted(text), format!("the string {text:?}"));
        }
        assert_eq!(described("openai2026", "one of openai, anthropic"), quoted("openai2026"), "too far");
        assert_eq!(described("Searxng1", "one of searxng, brave"), "the string \"Searxng1\"");
    }
}
