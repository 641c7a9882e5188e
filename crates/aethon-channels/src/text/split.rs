//! Cuts styled text into parts that a platform accepts, without breaking links, characters or styles.
//!
//! A part ends where a person would pause: after a paragraph, a line, a sentence, a word. A code block that does not
//! fit is cut between its lines and continues as a code block in the next part. A link is cut only if it would fill a
//! part alone.

use super::styled::{Style, Styled};

/// The unit in which a platform counts length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// UTF-16 units, as Telegram's clients do.
    Utf16,
    /// Bytes.
    Bytes,
    /// UTF-16 units, including the marks of Discord's Markdown.
    Discord,
    /// UTF-16 units, including the marks and escapes of Slack's `mrkdwn`.
    Slack,
}

/// The longest address that is written into a message. That of a longer link is omitted.
pub(crate) const MAX_ADDRESS: usize = 400;

impl Measure {
    /// Returns the length of a text.
    #[cfg(test)]
    pub(crate) fn of(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            _ => text.encode_utf16().count(),
        }
    }

    fn of_char(self, c: char) -> usize {
        match self {
            Self::Utf16 => c.len_utf16(),
            Self::Bytes => c.len_utf8(),
            // Each line of a quote begins with a mark.
            Self::Discord | Self::Slack if c == '\n' => 3,
            Self::Discord if c.is_ascii_punctuation() => 2,
            Self::Slack if c == '&' => 5,
            Self::Slack if matches!(c, '<' | '>') => 4,
            Self::Discord | Self::Slack => c.len_utf16(),
        }
    }

    /// Returns the length of a span's marks.
    fn of_style(self, style: &Style) -> usize {
        match (self, style) {
            (Self::Utf16 | Self::Bytes, _) => 0,
            (_, Style::Block(language)) => 10 + language.len(),
            (_, Style::Link(address)) if address.len() > MAX_ADDRESS => 0,
            (Self::Discord, Style::Link(address)) => address.len() + 6,
            (_, Style::Link(address)) => address.len() + 4 * address.matches('&').count() + 5,
            _ => 6,
        }
    }
}

/// The limits of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) measure: Measure,
    pub(crate) length: usize,
    pub(crate) spans: usize,
}

/// Splits a text into parts, none of them blank. A platform that adds marks to the text must pass less than its
/// limit.
pub(crate) fn split(text: &Styled, fit: Fit) -> Vec<Styled> {
    let mut parts = Vec::new();
    let mut from = 0;
    while from < text.text.len() {
        let to = end_of_part(text, from, fit);
        let part = text.cut(from, to);
        if !part.is_blank() {
            parts.push(part);
        }
        from = to;
    }
    parts
}

fn end_of_part(text: &Styled, from: usize, fit: Fit) -> usize {
    let limit = furthest(text, from, fit);
    if limit == text.text.len() {
        return limit;
    }
    let window = &text.text[from..limit];
    // A break that would leave a part nearly empty does not count.
    let least = window.len() / 3;
    let pauses = [("\n\n", 2), ("\n", 1), (". ", 2), ("! ", 2), ("? ", 2), (" ", 1)];
    for (pause, length) in pauses {
        let mut before = window.len();
        while let Some(at) = window[..before].rfind(pause) {
            let end = from + (at + length).min(window.len());
            if at < least {
                break;
            }
            if !is_in_link(text, end) && (pause == "\n" || pause == "\n\n" || !is_in_block(text, end)) {
                return end;
            }
            before = at;
        }
    }
    // There is no break: cut before a link that would be broken, or else in the middle of a word.
    match link_at(text, limit) {
        Some(start) if start > from => start,
        _ => limit,
    }
}

/// Returns how far a part that begins here may extend.
fn furthest(text: &Styled, from: usize, fit: Fit) -> usize {
    // Spans that began earlier and continue need their marks again.
    let goes_on = text.spans.iter().filter(|span| span.start < from && span.end > from);
    let mut length: usize = goes_on.map(|span| fit.measure.of_style(&span.style)).sum();
    let mut begins = text.spans.iter().skip_while(|span| span.start < from).peekable();
    let mut limit = text.text.len();
    for (at, c) in text.text[from..].char_indices() {
        while let Some(span) = begins.next_if(|span| span.start <= from + at) {
            length += fit.measure.of_style(&span.style);
        }
        length += fit.measure.of_char(c);
        if length > fit.length {
            limit = from + at;
            break;
        }
    }
    // Spans are ordered by their start; those that began earlier and continue count too.
    let mut spans = text.spans.iter().filter(|span| span.end > from && span.start < limit);
    if let Some(first_too_many) = spans.nth(fit.spans.max(1)) {
        limit = limit.min(first_too_many.start.max(from + 1));
        limit = text.text.floor_char_boundary(limit).max(next_character(&text.text, from));
    }
    limit.max(next_character(&text.text, from))
}

/// At least one character is taken, so that splitting terminates.
fn next_character(text: &str, from: usize) -> usize {
    from + text[from..].chars().next().map_or(0, char::len_utf8)
}

fn is_in_link(text: &Styled, at: usize) -> bool {
    link_at(text, at).is_some()
}

/// Returns the start of the link that a cut here would break.
fn link_at(text: &Styled, at: usize) -> Option<usize> {
    let cuts = |span: &&super::styled::Span| {
        matches!(span.style, Style::Link(_) | Style::Code) && span.start < at && at < span.end
    };
    text.spans.iter().find(cuts).map(|span| span.start)
}

fn is_in_block(text: &Styled, at: usize) -> bool {
    text.spans.iter().any(|span| matches!(span.style, Style::Block(_)) && span.start < at && at < span.end)
}

#[cfg(test)]
mod tests {
    use super::super::tree::styled;
    use super::*;

    fn fit(length: usize) -> Fit {
        Fit { measure: Measure::Utf16, length, spans: 100 }
    }

    fn check(markdown: &str, length: usize, expected: &[&str]) {
        let parts = split(&styled(markdown), fit(length));
        let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
        assert_eq!(texts, expected, "{markdown:?}");
    }

    #[test]
    fn a_text_is_cut_where_a_person_would_pause() {
        check("short", 20, &["short"]);
        check("one two three\n\nfour five six", 20, &["one two three", "four five six"]);
        check("one two three four five", 14, &["one two three", "four five"]);
        check("First one. Second one here.", 20, &["First one.", "Second one here."]);
        check(&"x".repeat(25), 10, &["xxxxxxxxxx", "xxxxxxxxxx", "xxxxx"]);
        check("", 10, &[]);
    }

    #[test]
    fn a_character_of_two_units_is_never_cut() {
        let parts = split(&styled(&"😀".repeat(11)), fit(5));
        assert!(parts.iter().all(|part| Measure::Utf16.of(&part.text) <= 5));
        assert_eq!(parts.iter().map(|part| part.text.chars().count()).sum::<usize>(), 11);
    }

    #[test]
    fn code_block_continues_in_the_next_part_and_link_stays_whole() {
        let code: String = (0..20).map(|n| format!("let a{n} = {n};\n")).collect();
        let parts = split(&styled(&format!("```rust\n{code}```")), fit(80));
        assert!(parts.len() > 3);
        for part in &parts {
            assert_eq!(part.spans.len(), 1, "{part:?}");
            assert!(
                part.spans[0].style == Style::Block("rust".into()) && part.spans[0].end == part.text.len()
            );
            assert!(part.text.ends_with(';') && part.text.starts_with("let"), "{part:?}");
        }
        let parts = split(&styled("see what the [long words of this link](https://a.b) say"), fit(24));
        let links =
            parts.iter().flat_map(|part| part.spans.iter().map(move |span| &part.text[span.start..span.end]));
        assert_eq!(links.collect::<Vec<_>>(), ["long words of this link"]);
    }

    #[test]
    fn nothing_but_blank_space_is_lost_and_every_part_fits() {
        let text: String =
            (0..200).map(|n| format!("**w{n}** `c{n}` [l{n}](https://x/{n}) äöü 😀\n")).collect();
        let whole = styled(&text);
        for length in [40, 100, 1000] {
            let parts = split(&whole, Fit { measure: Measure::Utf16, length, spans: 10 });
            let joined: String = parts.iter().flat_map(|part| part.text.split_whitespace()).collect();
            assert_eq!(joined, whole.text.split_whitespace().collect::<String>());
            for part in &parts {
                assert!(Measure::Utf16.of(&part.text) <= length && part.spans.len() <= 11, "{part:?}");
                assert!(part.spans.iter().all(|span| part.text.get(span.start..span.end).is_some()));
            }
        }
    }
}
