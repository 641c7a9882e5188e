//! Turns documents into text: PDF, office files, e-books, RTF, HTML, tables, and plain text in other encodings.
//!
//! [`read`] takes the bytes of a document and hands its text to a sink page by page, so a reader that is killed still leaves the
//! text up to there. It bounds only its output. Memory, time, and the reach of a fault are bounded by the process that the
//! facade starts for each document (decision 0184).
//!
//! `output` is the sink with its bound and its notes, `flow` puts paragraphs and tables together for it, and `encoding`
//! finds out how bytes are text. `pdf` reads PDFs, `package` and `xml` open the files in a ZIP, which `word`, `slides`,
//! `open_document` and `book` read; `sheets`, `rich_text`, `page`, and `table` read the other kinds.

mod book;
mod encoding;
mod error;
mod flow;
mod open_document;
mod output;
mod package;
mod page;
mod pdf;
mod reading;
mod rich_text;
mod sheets;
mod slides;
mod table;
mod word;
mod xml;

pub use error::Error;
pub use output::MAX_TEXT;
pub use reading::read;
