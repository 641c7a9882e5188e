//! Plain text, and which stretches of it are bold, code, a link. Every platform's form is written from this one.
//!
//! Spans are byte ranges on character boundaries, properly nested, an outer one before those inside it. They are stored with
//! a delivery, so that a second attempt sends exactly what the first one was going to send.

use serde::{Deserialize, Serialize};

/// How a stretch of text looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    Bold,
    Italic,
    Strike,
    Quote,
    /// Code within a line.
    Code,
    /// A block of code in this language, which may be empty.
    Block(String),
    /// A link to this address.
    Link(String),
}

impl Style {
    /// Whether the text in it is shown as it is, without styles inside.
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
    /// Text without any style.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), spans: Vec::new() }
    }

    /// Adds text in this style.
    pub(crate) fn push(&mut self, text: &str, style: Style) {
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push(Span { start, end: self.text.len(), style });
    }

    /// A stretch of it without blank space at its ends, with the spans cut to it.
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

    /// Whether there is nothing to see in it.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_with_their_text() {
        let mut text = Styled::plain("a bold link b");
        text.spans = vec![
            Span { start: 2, end: 11, style: Style::Bold },
            Span { start: 7, end: 11, style: Style::Link("u".into()) },
        ];
        let cut = text.cut(4, 9);
        let shown: Vec<&str> = cut.spans.iter().map(|span| &cut.text[span.start..span.end]).collect();
        assert_eq!((cut.text.as_str(), shown), ("ld li", vec!["ld li", "li"]));
        assert!(text.cut(0, 1).spans.is_empty());
    }
}
