//! How the chat shortens, counts and cleans texts.

use aethon::core::ids::SessionId;
use serde_json::Value;

use crate::render::columns_of;

/// Returns a pasted text as it is inserted.
pub(super) fn pasted(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").chars().map(shown).collect()
}

/// Names a model, and says if it has yet to be set up.
pub(super) fn model_named(model: &str, is_ready: bool) -> String {
    match is_ready {
        true => model.to_owned(),
        false => format!("{model}, not set up yet (`aethon-cli init` does that)"),
    }
}

/// Returns whether the conversation `webchat:NAME` is kept in memory only.
pub(super) fn is_temporary(name: &str) -> bool {
    SessionId::of("webchat", name).is_ok_and(|session| session.is_temporary())
}

/// Returns a word without the punctuation that ends a sentence.
pub(super) fn bare(word: &str) -> &str {
    word.trim_end_matches(['.', ',', ';', ':', '?', '!', ')'])
}

/// Returns whether Enter continues the message: after a trailing backslash, and within an open code fence.
pub(super) fn is_incomplete(text: &str) -> bool {
    has_open_fence(text) || text.ends_with('\\')
}

/// Returns whether Enter continues the message because of a trailing backslash, which then is no part of it.
pub(super) fn is_continued(text: &str) -> bool {
    text.ends_with('\\') && !has_open_fence(text)
}

fn has_open_fence(text: &str) -> bool {
    text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
}

/// Returns the visible symbol of a control character, such as ␛, so that the user sees exactly the text that is sent.
fn shown(c: char) -> char {
    match u32::from(c) {
        _ if c == '\n' || c == '\t' => c,
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        0x80..=0x9f => '\u{fffd}',
        _ => c,
    }
}

/// Formats money: cents as usual, and less with two digits that count.
pub(super) fn dollars(usd: f64) -> String {
    let digits = if usd <= 0.0 || usd >= 0.1 { 2 } else { ((-usd.log10()).ceil() as usize + 1).min(8) };
    format!("${usd:.digits$}")
}

/// Formats a count with commas between thousands.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let grouped = digits.char_indices().map(|(at, digit)| {
        let is_first = at == 0 || !(digits.len() - at).is_multiple_of(3);
        if is_first { digit.to_string() } else { format!(",{digit}") }
    });
    grouped.collect()
}

/// Shortens a text to one line of at most this many columns.
pub(super) fn shortened(text: &str, columns: usize) -> String {
    let line = text.replace('\n', " ");
    if columns_of(&line) <= columns {
        return line;
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns_of(c.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    line.chars().take_while(fits).chain(['…']).collect()
}

/// Returns the numbers and texts of the commands that run, from the document about those of a conversation.
pub(super) fn running(document: &Value) -> Vec<(String, String)> {
    let commands = document["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
    let running = commands.iter().filter(|command| command["state"] == "running");
    let text = |command: &Value| command["command"].as_str().unwrap_or_default().to_owned();
    running.map(|command| (command["number"].to_string(), text(command))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_money_are_short_and_exact() {
        assert_eq!((dollars(1.5).as_str(), dollars(0.05).as_str()), ("$1.50", "$0.050"));
        assert_eq!((dollars(0.0).as_str(), dollars(0.002_14).as_str()), ("$0.00", "$0.0021"));
        assert_eq!((grouped(999).as_str(), grouped(1_234_567).as_str()), ("999", "1,234,567"));
        assert_eq!(
            (shortened("one\ntwo", 20).as_str(), shortened("日本語", 5).as_str()),
            ("one two", "日本…")
        );
    }

    #[test]
    fn an_open_fence_or_a_backslash_goes_on() {
        assert!(is_incomplete("a\\") && is_incomplete("```\nfn") && !is_incomplete("```\nfn\n```"));
        assert_eq!(pasted("a\r\nb\u{1b}\tc"), "a\nb␛\tc");
    }
}
