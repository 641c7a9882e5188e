//! Converts HTML to the text that a person would read, in the Markdown that models know: headings, paragraphs, lists,
//! tables, links.
//!
//! A tokenizer suffices: no tree is built, so endless nesting costs nothing. `elements` gives the meaning of an element,
//! `visibility` detects invisible text,
//! `reader` processes the tokens and tracks the open elements, `writer` puts words and line breaks together and
//! separates the content of a page from its frame.

mod elements;
mod reader;
#[cfg(test)]
mod tests;
mod visibility;
mod writer;

pub(super) use reader::read;

/// A page as text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    /// Its title.
    pub(super) title: String,
    /// Its content in Markdown.
    pub(super) text: String,
    /// Whether it was truncated.
    pub(super) is_cut: bool,
}
