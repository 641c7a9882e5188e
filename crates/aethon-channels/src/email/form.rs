//! Converts styled text to the two forms of a mail: plain text with the markup that people use by hand, and HTML.

use crate::text::{Style, Styled, html};

/// Returns the plain form.
pub(super) fn plain(text: &Styled) -> String {
    let mut text = text.clone();
    // A link whose text is its address is written once.
    let Styled { text: words, spans } = &mut text;
    spans.retain(|span| match &span.style {
        Style::Link(url) => {
            let shown = &words[span.start..span.end];
            shown != url && url.strip_prefix("mailto:") != Some(shown)
        }
        _ => true,
    });
    text.write(
        |out, text, _| out.push_str(text),
        |style, opens| match (style, opens) {
            (Style::Bold, _) => "*".into(),
            (Style::Italic, _) => "_".into(),
            (Style::Strike, _) => "~".into(),
            (Style::Code, _) => "`".into(),
            (Style::Link(url), false) => format!(" <{url}>"),
            (Style::Quote | Style::Block(_) | Style::Link(_), _) => String::new(),
        },
    )
}

/// Returns the HTML form.
pub(super) fn page(text: &Styled) -> String {
    format!(
        "<!doctype html><html><body><div style=\"white-space:pre-wrap\">{}</div></body></html>",
        html(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::styled;

    #[test]
    fn plain_text_is_marked_as_people_do_it() {
        let check = |markdown: &str, expected: &str| assert_eq!(plain(&styled(markdown)), expected);
        check("a **b** `c` *d*", "a *b* `c` _d_");
        check("[t](https://a.b) https://c.d", "t <https://a.b> https://c.d");
        assert!(page(&styled("<b>")).contains("&lt;b&gt;"));
    }
}
