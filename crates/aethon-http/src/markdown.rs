//! Converts Markdown to safe HTML. Text of a model becomes markup nowhere else.
//!
//! [`render`] and [`blocks`] take a complete text; [`Incremental`] follows a growing text and reports which blocks
//! changed. The output contains only our own markup: raw HTML is shown as text (but for the few tags of `tags`), links
//! lead only to http, https and mail addresses, and a picture becomes a link, so displaying a reply never contacts a
//! foreign server. The dialect is CommonMark with tables, task lists, strikethrough, bare links, footnotes and alerts.
//! Blocks that are read from right to left say so. Time, depth and size are bounded; anything beyond is shown as plain
//! text. Documents of our own go the same way and keep more ([`page`]).

mod direction;
mod incremental;
mod inline;
pub(crate) mod page;
mod parse;
mod tags;
mod tree;

pub(crate) use incremental::Incremental;
pub(crate) use parse::blocks;

/// Renders the whole text as HTML.
pub(crate) fn render(markdown: &str) -> String {
    blocks(markdown).concat()
}

/// Renders a document of ours.
pub(crate) fn render_page(markdown: &str, page: page::Page<'_>) -> String {
    parse::page(markdown, page)
}

/// Returns text escaped for use inside an element or a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    inline::escape_into(&mut html, text);
    html
}

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
pub(crate) mod tests;
