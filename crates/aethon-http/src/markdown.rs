//! Markdown to safe HTML, the only way in which text of a model becomes markup.
//!
//! [`render`] and [`blocks`] take a whole text; [`Incremental`] follows a text that is still growing and tells which
//! blocks changed. What comes out holds no markup but ours: raw HTML is shown as text, links lead to http, https and
//! mail addresses only, and a picture is a link to it, so that showing a reply never asks a foreign server for anything.
//! The dialect is CommonMark with tables, task lists, strikethrough and bare links. Time, depth and size are bounded;
//! what goes beyond is shown as the text that it is.

mod incremental;
mod inline;
mod parse;
mod tree;

pub(crate) use incremental::Incremental;
pub(crate) use parse::blocks;

/// The whole text as HTML.
pub(crate) fn render(markdown: &str) -> String {
    blocks(markdown).concat()
}

#[cfg(test)]
pub(crate) mod tests;
