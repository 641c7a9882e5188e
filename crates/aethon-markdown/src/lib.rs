//! The one dialect of Markdown that the pages, the terminal and the messengers show.
//!
//! It is that of GitHub, for all scripts: emphasis may begin and end beside punctuation in languages that write no blanks
//! between words, and a bare address ends where its sentence goes on. The parser offers no such end, so [`parse`] marks it in
//! the source (`marks`, by the rules of `address` and `scripts`) and takes the marks out of the tree again.

mod address;
mod document;
mod marks;
mod math;
mod scripts;

pub use document::{dialect, parse, parse_with_math};

#[cfg(test)]
mod math_tests;
#[cfg(test)]
mod tests;
