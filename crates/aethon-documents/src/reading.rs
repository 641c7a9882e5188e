//! Reads a document of a kind.

use aethon_core::document::DocumentKind;

use crate::error::Error;
use crate::output::Output;
use crate::package::Package;
use crate::sheets::Form;
use crate::{book, encoding, open_document, page, pdf, rich_text, sheets, slides, table, word};

/// Reads a document. `sink` gets its text in pieces, in order; the notes say what could not be read.
pub fn read(kind: DocumentKind, bytes: Vec<u8>, sink: &mut dyn FnMut(&str)) -> Result<Vec<String>, Error> {
    if bytes.is_empty() {
        return Err(Error::new("it is empty"));
    }
    let mut output = Output::new(sink);
    let out = &mut output;
    match kind {
        DocumentKind::Pdf => pdf::read(bytes, out)?,
        DocumentKind::Package => package(bytes, out)?,
        DocumentKind::Compound => sheets::read_compound(bytes, out)?,
        DocumentKind::RichText => rich_text::read(&bytes, out)?,
        DocumentKind::Page => page::read(&encoding::page(&bytes), out),
        DocumentKind::Table => table::read(&encoding::text(&bytes)?, out),
        DocumentKind::Plain => out.push(&encoding::text(&bytes)?),
    }
    if output.is_empty() {
        output.note("The document has no text.");
    }
    Ok(output.finish())
}

/// Reads a ZIP-based document by its content, whatever its name.
fn package(bytes: Vec<u8>, out: &mut Output<'_>) -> Result<(), Error> {
    let mut package = Package::open(&bytes)?;
    if let Some(mimetype) = package.mimetype() {
        if mimetype == "application/epub+zip" {
            return book::read(&mut package, out);
        }
        if mimetype.starts_with("application/vnd.oasis.opendocument.spreadsheet") {
            return sheets::read(bytes, Form::Ods, out);
        }
        if mimetype.starts_with("application/vnd.oasis.opendocument.") {
            return open_document::read(&mut package, out);
        }
    }
    if package.has("word/document.xml") || package.has_below("word/") {
        return word::read(&mut package, out);
    }
    if package.has_below("xl/") {
        let form = if package.has("xl/workbook.bin") { Form::Xlsb } else { Form::Xlsx };
        return sheets::read(bytes, form, out);
    }
    if package.has_below("ppt/") {
        return slides::read(&mut package, out);
    }
    if package.has("META-INF/container.xml") {
        return book::read(&mut package, out);
    }
    if package.has("content.xml") {
        return open_document::read(&mut package, out);
    }
    if package.has("Index/Document.iwa") || package.has("index.xml") {
        return Err(Error::new("it is a document of Apple's programs; save it as PDF, Word or Excel"));
    }
    Err(Error::new("it is an archive and no document that is known; unpack it first"))
}
