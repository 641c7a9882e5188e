//! Reads documents as the tests need it, and writes small ones.
#![allow(dead_code, reason = "each test program uses its own part")]

pub mod packages;
pub mod pdfs;

use aethon_core::document::{DocumentKind, HEAD};

/// Reads a document by its name and its content. The error is why not, in words.
pub fn read(name: &str, bytes: &[u8]) -> Result<String, String> {
    let kind = DocumentKind::of(&bytes[..bytes.len().min(HEAD)], name, "");
    read_as(kind.unwrap_or(DocumentKind::Plain), bytes)
}

/// Reads a document of a kind. Notes about missing parts follow its text.
pub fn read_as(kind: DocumentKind, bytes: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    let notes = aethon_documents::read(kind, bytes.to_vec(), &mut |piece| text.push_str(piece));
    let notes = notes.map_err(|error| error.to_string())?;
    assert!(text.len() <= aethon_documents::MAX_TEXT);
    notes.iter().for_each(|note| text.push_str(&format!("[{note}]\n")));
    Ok(text)
}

/// Reads a file of the folder `data`.
pub fn data(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}
