//! Converts styled text to WhatsApp's markup: `*b*`, `_i_`, `~s~`, and fences.

use crate::text::{Style, Styled};

/// The longest text of a message, in UTF-16 units.
const MAX_TEXT: usize = 4096;

/// Returns the text with its marks, or without them if they would make it too long.
pub(super) fn marked(text: &Styled) -> String {
    let marked = text.write(
        |out, text, _| out.push_str(text),
        |style, opens| match (style, opens) {
            (Style::Bold, _) => "*".into(),
            (Style::Italic, _) => "_".into(),
            (Style::Strike, _) => "~".into(),
            (Style::Code, _) => "`".into(),
            (Style::Block(_), _) => "```".into(),
            (Style::Link(url), false) if !text.text.contains(url.as_str()) => format!(" ({url})"),
            (Style::Quote | Style::Link(_), _) => String::new(),
        },
    );
    if marked.encode_utf16().count() <= MAX_TEXT { marked } else { text.text.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    #[test]
    fn styles_are_marks() {
        let check = |markdown: &str, expected: &str| assert_eq!(marked(&styled(markdown)), expected);
        check("a **b** *c* ~~d~~ `e`", "a *b* _c_ ~d~ `e`");
        check("```rust\nlet a;\n```", "```let a;```");
        check("[t](https://a.b) https://c.d", "t (https://a.b) https://c.d");
    }
}
