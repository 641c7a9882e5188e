//! PDFs, page by page, by the libraries of hayro: they find the newest objects, decrypt, unpack and interpret.
//!
//! `pages` goes through the document and notes missing parts, `canvas` records the characters that a page draws, `lines`
//! joins them into lines, `collections` knows characters of East Asian fonts that the document does not explain, and
//! `fields` reads forms and notes.

mod canvas;
mod collections;
mod fields;
mod lines;
mod pages;

pub(crate) use pages::read;
