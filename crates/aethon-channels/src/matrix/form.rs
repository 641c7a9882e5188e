//! Styled text as the few tags that every client of Matrix shows.

use serde_json::{Value, json};

use crate::text::{Style, Styled};

/// The content of a message.
pub(super) fn message(text: &Styled) -> Value {
    let mut content = json!({"msgtype": "m.text", "body": text.text, "m.mentions": {}});
    if !text.spans.is_empty() {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(html(text));
    }
    content
}

/// What takes the place of a message.
pub(super) fn replacement(text: &Styled, of: &str) -> Value {
    json!({
        "msgtype": "m.text", "body": format!("* {}", text.text), "m.mentions": {},
        "m.new_content": message(text),
        "m.relates_to": {"rel_type": "m.replace", "event_id": of},
    })
}

fn html(text: &Styled) -> String {
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
        assert!(message(&styled("plain")).get("format").is_none());
    }
}
