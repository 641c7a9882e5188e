//! Converts styled text to the few HTML tags that every reader supports.

use super::styled::{Style, Styled};

/// Returns the text as HTML.
pub(crate) fn html(text: &Styled) -> String {
    text.write(
        |out, text, is_code| {
            let escaped = escaped(text);
            out.push_str(&if is_code { escaped } else { escaped.replace('\n', "<br>") });
        },
        |style, opens| match (style, opens) {
            (Style::Bold, true) => "<strong>".into(),
            (Style::Bold, false) => "</strong>".into(),
            (Style::Italic, true) => "<em>".into(),
            (Style::Italic, false) => "</em>".into(),
            (Style::Strike, true) => "<del>".into(),
            (Style::Strike, false) => "</del>".into(),
            (Style::Quote, true) => "<blockquote>".into(),
            (Style::Quote, false) => "</blockquote>".into(),
            (Style::Code, true) => "<code>".into(),
            (Style::Code, false) => "</code>".into(),
            (Style::Block(language), true) if language.is_empty() => "<pre><code>".into(),
            (Style::Block(language), true) => {
                format!("<pre><code class=\"language-{}\">", escaped(language))
            }
            (Style::Block(_), false) => "</code></pre>".into(),
            (Style::Link(url), true) => format!("<a href=\"{}\">", escaped(url)),
            (Style::Link(_), false) => "</a>".into(),
        },
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    #[test]
    fn text_is_escaped_and_styles_are_tags() {
        let check = |markdown: &str, expected: &str| assert_eq!(html(&styled(markdown)), expected);
        check("a **b** `<c>`\nd & e", "a <strong>b</strong> <code>&lt;c&gt;</code><br>d &amp; e");
        check("[t](https://a.b/?x=1&y=\"2\")", "<a href=\"https://a.b/?x=1&amp;y=&quot;2&quot;\">t</a>");
        check("```rust\na\nb\n```", "<pre><code class=\"language-rust\">a\nb</code></pre>");
        check("> *q*", "<blockquote><em>q</em></blockquote>");
    }
}
