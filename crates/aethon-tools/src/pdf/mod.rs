//! The text of a PDF, for models: no layout, no pictures, page by page.
//!
//! Written here because a document may be hostile: what the crates for PDFs unpack is not bounded. `syntax` reads objects,
//! `document` finds them and unpacks streams within a budget, `fonts` turns codes into characters, `content` follows what a
//! page draws. What is broken is skipped, so that the rest can be read. Encrypted documents and scanned pages have no text here.

mod content;
mod document;
mod fonts;
mod syntax;

pub(crate) use content::text;
