//! HTML as a person would read it, in the Markdown that models know: headings, paragraphs, lists, tables, links.
//!
//! A tokenizer is all it takes: no tree is built, so a page that is nested without end costs nothing. `elements` says what an
//! element means, `reader` walks the tokens and knows which elements are open, `writer` puts words and breaks on lines and
//! keeps the content of a page apart from its frame.

mod elements;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use reader::read;

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    /// Its title.
    pub(super) title: String,
    /// Its content in Markdown.
    pub(super) text: String,
    /// Whether it goes on: it has more text than is kept.
    pub(super) is_cut: bool,
}
