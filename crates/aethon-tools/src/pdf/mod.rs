//! Extracts the text of a PDF for models: page by page, without layout or images.
//!
//! A custom implementation, because documents may be hostile and the existing PDF crates do not bound decompression.
//! `syntax` parses objects, `document` finds them and decompresses streams within a budget, `fonts` maps codes to
//! characters, `content` follows what a page draws. Broken parts are skipped, so that the rest can be read. Encrypted
//! documents and scanned pages have no text here.

mod content;
mod document;
mod fonts;
mod syntax;

pub(crate) use content::text;
