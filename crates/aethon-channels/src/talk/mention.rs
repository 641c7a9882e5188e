//! The beginning of a message that only addresses us: a mention and what clients put after it.

/// What stands between a mention and the message.
const MARKS: [char; 7] = [':', ',', ';', '\u{ff1a}', '\u{ff0c}', '\u{3001}', '\u{2014}'];

/// Returns a text without the marks that were left of a mention at its beginning, as in `: /stop`.
pub(crate) fn without_marks(text: &str) -> &str {
    text.trim().trim_start_matches(MARKS).trim_start()
}

/// Returns a text without one of these names at its beginning, if a mark follows it, as in `bot: /stop`. Case does
/// not matter; an `@` before a name is part of it.
pub(crate) fn after_name<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    after(text, names).filter(|rest| rest.trim_start().starts_with(MARKS)).map(without_marks)
}

/// Returns a text without one of these names at its beginning, if a blank, a mark or nothing follows it. For texts
/// that are known to begin with a mention.
pub(crate) fn after_mention<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    after(text, names).map(without_marks)
}

fn after<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let text = text.trim_start();
    let bare = text.strip_prefix('@').unwrap_or(text);
    let names = names.iter().map(|name| name.trim().trim_start_matches('@')).filter(|name| !name.is_empty());
    // Of two names that fit, as `Aethon` and `Aethon Helper`, the longer one is meant.
    let rests = names.filter_map(|name| without_prefix(bare, name)).filter(|rest| ends_name(rest));
    rests.min_by_key(|rest| rest.len())
}

/// Returns whether a name ends before this. A colon within an id does not end it.
fn ends_name(rest: &str) -> bool {
    let behind = rest.trim_start_matches(MARKS);
    let is_marked = behind.len() < rest.len();
    let goes_on = rest.starts_with(|c: char| c.is_ascii()) && behind.starts_with(char::is_alphanumeric);
    rest.is_empty() || rest.starts_with(char::is_whitespace) || (is_marked && !goes_on)
}

/// Returns what follows a prefix, ignoring case.
fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (mut rest, mut wanted) = (text.chars(), prefix.chars().flat_map(char::to_lowercase));
    while let Some(next) = wanted.next() {
        let mut found = rest.next()?.to_lowercase();
        if found.next() != Some(next) || found.any(|more| wanted.next() != Some(more)) {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_before_a_mark_are_removed() {
        let names = ["@bot:hs.example", "bot", "Aethon Helper"];
        for (text, expected) in [
            ("bot: /stop", Some("/stop")),
            ("Bot, /new", Some("/new")),
            ("@bot: hi", Some("hi")),
            ("aethon helper: hi", Some("hi")),
            ("@bot:hs.example: hi", Some("hi")),
            ("@bot:hs.example: /help", Some("/help")),
            ("ＢＯＴ: hi", None),
            ("bot hi", None),
            ("bot:hs.other: hi", None),
            ("bot：hi", Some("hi")),
            ("bottle: hi", None),
            ("", None),
        ] {
            assert_eq!(after_name(text, &names), expected, "{text:?}");
        }
        for (text, expected) in [
            ("bot /stop", Some("/stop")),
            ("bot", Some("")),
            ("Aethon Helper：/stop", Some("/stop")),
            ("bottle /stop", None),
        ] {
            assert_eq!(after_mention(text, &names), expected, "{text:?}");
        }
        let nested = ["aethon", "Aethon Helper"];
        assert_eq!(after_name("Aethon Helper: /stop", &nested), Some("/stop"));
        assert_eq!(after_mention("Aethon Helper /stop", &nested), Some("/stop"));
        assert_eq!(after_name("aethon: /stop", &nested), Some("/stop"));
        assert_eq!((without_marks(" : /stop"), without_marks("a: b")), ("/stop", "a: b"));
    }
}
