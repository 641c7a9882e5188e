//! Converts styled text to `text` and `entities`. Telegram cannot reject it as malformed, because nothing in it is
//! markup.
//!
//! Offsets count UTF-16 units. Code cannot be inside another entity or contain one, and quotes do not nest; spans
//! that overlap such a stretch are cut around it.

use serde_json::{Value, json};

use crate::text::{Span, Style, Styled};

/// Returns the entities of a text.
pub(super) fn entities(text: &Styled) -> Vec<Value> {
    let mut entities = Vec::new();
    let units = |bytes: usize| text.text[..bytes].encode_utf16().count();
    for (number, span) in text.spans.iter().enumerate() {
        for (start, end) in stretches(text, number, span) {
            let (offset, until) = (units(start), units(end));
            let mut entity = match &span.style {
                Style::Bold => json!({"type": "bold"}),
                Style::Italic => json!({"type": "italic"}),
                Style::Strike => json!({"type": "strikethrough"}),
                Style::Quote => json!({"type": "blockquote"}),
                Style::Code => json!({"type": "code"}),
                Style::Block(language) if language.is_empty() => json!({"type": "pre"}),
                Style::Block(language) => json!({"type": "pre", "language": language}),
                Style::Link(url) => json!({"type": "text_link", "url": url}),
            };
            entity["offset"] = json!(offset);
            entity["length"] = json!(until - offset);
            entities.push(entity);
        }
    }
    entities.truncate(MAX_ENTITIES);
    entities
}

/// How many entities a message may have.
pub(super) const MAX_ENTITIES: usize = 100;

/// Returns what remains of a span after removing code inside it and a quote around it.
fn stretches(text: &Styled, number: usize, span: &Span) -> Vec<(usize, usize)> {
    let outer = &text.spans[..number];
    let is_inside = |other: &&Span| other.start <= span.start && span.end <= other.end;
    if outer
        .iter()
        .filter(is_inside)
        .any(|other| other.style.is_code() || (other.style == Style::Quote && span.style == Style::Quote))
    {
        return Vec::new();
    }
    let mut left = Vec::new();
    let mut from = span.start;
    if !span.style.is_code() && span.style != Style::Quote {
        let inner = text.spans[number + 1..].iter();
        for code in
            inner.filter(|inner| inner.style.is_code() && inner.start < span.end && inner.end > span.start)
        {
            left.push((from, code.start.max(from)));
            from = code.end.max(from);
        }
    }
    left.push((from, span.end));
    left.retain(|(start, end)| start < end && !text.text[*start..*end].trim().is_empty());
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    fn check(markdown: &str, text: &str, expected: Value) {
        let found = styled(markdown);
        assert_eq!(found.text, text, "{markdown:?}");
        assert_eq!(Value::Array(entities(&found)), expected, "{markdown:?}");
    }

    #[test]
    fn offsets_count_utf16_units() {
        check("😀 **b**", "😀 b", json!([{"type": "bold", "offset": 3, "length": 1}]));
        check("a *😀*", "a 😀", json!([{"type": "italic", "offset": 2, "length": 2}]));
    }

    #[test]
    fn code_stands_in_no_other_entity() {
        check(
            "**a `b` c**",
            "a b c",
            json!([
                {"type": "bold", "offset": 0, "length": 2},
                {"type": "bold", "offset": 3, "length": 2},
                {"type": "code", "offset": 2, "length": 1},
            ]),
        );
        check("```py\nx\n```", "x", json!([{"type": "pre", "language": "py", "offset": 0, "length": 1}]));
        check("> a\n> > b", "a\n\nb", json!([{"type": "blockquote", "offset": 0, "length": 4}]));
        check(
            "[l](https://a.b)",
            "l",
            json!([{"type": "text_link", "url": "https://a.b", "offset": 0, "length": 1}]),
        );
    }
}
