//! Plain text with styled spans, such as bold, code or links. Every platform's format is produced from it.
//!
//! Spans are byte ranges on character boundaries, properly nested, with outer spans before inner ones. They are
//! stored with a delivery, so that a retry sends exactly the same as the first attempt.

use serde::{Deserialize, Serialize};

/// The style of a span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    Bold,
    Italic,
    Strike,
    Quote,
    /// Inline code.
    Code,
    /// A code block in this language, which may be empty.
    Block(String),
    /// A link to this address.
    Link(String),
}

impl Style {
    /// Returns whether the text inside is literal, without further styles.
    pub(crate) fn is_code(&self) -> bool {
        matches!(self, Self::Code | Self::Block(_))
    }
}

/// A stretch of text with a style.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) style: Style,
}

/// Text with its spans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Styled {
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spans: Vec<Span>,
}

impl Styled {
    /// Creates text without styles.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), spans: Vec::new() }
    }

    /// Appends text in this style.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push(Span { start, end: self.text.len(), style });
    }

    /// Returns a trimmed range of it, with the spans cut accordingly.
    pub(crate) fn cut(&self, from: usize, to: usize) -> Self {
        let stretch = &self.text[from..to];
        let start = from + (stretch.len() - stretch.trim_start_matches('\n').len());
        let end = start + self.text[start..to].trim_end().len();
        let text = self.text[start..end].to_owned();
        let cut = |span: &Span| {
            let (first, last) = (span.start.clamp(start, end), span.end.clamp(start, end));
            (first < last).then(|| Span {
                start: first - start,
                end: last - start,
                style: span.style.clone(),
            })
        };
        Self { text, spans: self.spans.iter().filter_map(cut).collect() }
    }

    /// Returns whether it contains nothing visible.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Writes the text with the opening and closing marks of each span. Passes each piece of text through `literal`,
    /// which learns whether it is in code.
    pub(crate) fn write(
        &self,
        mut literal: impl FnMut(&mut String, &str, bool),
        mark: impl Fn(&Style, bool) -> String,
    ) -> String {
        let mut out = String::with_capacity(self.text.len() + 16 * self.spans.len());
        let mut open: Vec<&Span> = Vec::new();
        let mut at = 0;
        let mut spans = self.spans.iter().filter(|span| span.start < span.end).peekable();
        loop {
            let closing = open.last().map(|span| span.end);
            let opening = spans.peek().map(|span| span.start);
            let next = match (closing, opening) {
                (Some(closing), Some(opening)) => closing.min(opening),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => break,
            };
            let is_code = open.iter().any(|span| span.style.is_code());
            literal(&mut out, &self.text[at..next.max(at)], is_code);
            at = next.max(at);
            if closing == Some(next) {
                if let Some(span) = open.pop() {
                    out.push_str(&mark(&span.style, false));
                }
            } else if let Some(span) = spans.next() {
                // Inside code, no other style applies.
                if !is_code {
                    out.push_str(&mark(&span.style, true));
                    open.push(span);
                }
            }
        }
        literal(&mut out, &self.text[at..], false);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_and_written_in_their_nesting() {
        let mut text = Styled::plain("a bold link b");
        text.spans = vec![
            Span { start: 2, end: 11, style: Style::Bold },
            Span { start: 7, end: 11, style: Style::Link("u".into()) },
        ];
        let written = |text: &Styled| {
            text.write(
                |out, text, _| out.push_str(text),
                |style, opens| match (style, opens) {
                    (Style::Bold, _) => "*".into(),
                    (_, true) => "[".into(),
                    (_, false) => "]".into(),
                },
            )
        };
        assert_eq!(written(&text), "a *bold [link]* b");
        assert_eq!(written(&text.cut(4, 9)), "*ld [li]*");
        assert_eq!(written(&text.cut(0, 1)), "a");
    }
}
