//! Converts a model's Markdown to the form of messengers: plain text with styled spans, cut into parts that fit.

mod html;
mod rich;
mod split;
mod styled;
mod table;
mod tree;

pub(crate) use html::html;
pub(crate) use rich::{RichFit, rich};
pub(crate) use split::{Fit, MAX_ADDRESS, Measure, split};
pub(crate) use styled::{Span, Style, Styled};
pub(crate) use tree::styled;
