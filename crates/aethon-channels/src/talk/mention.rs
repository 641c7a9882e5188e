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
    let text = text.trim_start();
    let bare = text.strip_prefix('@').unwrap_or(text);
    names.iter().filter(|name| !name.trim().is_empty()).find_map(|name| {
        let rest = without_prefix(bare, name.trim().trim_start_matches('@'))?;
        let rest = rest.trim_start();
        rest.starts_with(MARKS).then(|| without_marks(rest))
    })
}

/// Returns a text without one of these names at its beginning, if a blank, a mark or nothing follows it. For texts
/// that are known to begin with a mention.
pub(crate) fn after_mention<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let text = text.trim_start();
    let bare = text.strip_prefix('@').unwrap_or(text);
    names.iter().filter(|name| !name.trim().is_empty()).find_map(|name| {
        let rest = without_prefix(bare, name.trim().trim_start_matches('@'))?;
        let ends = rest.is_empty() || rest.starts_with(MARKS) || rest.starts_with(char::is_whitespace);
        ends.then(|| without_marks(rest))
    })
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
        assert_eq!((without_marks(" : /stop"), without_marks("a: b")), ("/stop", "a: b"));
    }
}
