//! Extracts the text of a PDF for models: page by page, without layout or images.
//!
//! A custom implementation, because documents may be hostile and the existing PDF crates do not bound decompression.
//! `syntax` parses objects, `document` finds them and decompresses streams within a budget, `fonts` maps codes to
//! characters, `content` follows the drawing operators, `effort` ends a document that takes too much, and `reading`
//! bounds how many are read at once. Broken parts are skipped, so that the rest can be read. Encrypted documents and
//! scanned pages have no text here.

mod content;
mod document;
mod effort;
mod fonts;
mod reading;
mod syntax;
#[cfg(test)]
mod tests;

pub(crate) use content::text;
pub(crate) use reading::slot;
