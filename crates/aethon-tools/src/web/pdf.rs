//! The text of a fetched PDF.

use super::html::Readable;

/// Extracts the text, up to `most` bytes.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<Readable, String> {
    let text = crate::pdf::text(bytes)?;
    let end = text.floor_char_boundary(most);
    Ok(Readable { title: String::new(), text: text[..end].to_owned(), is_cut: end < text.len() })
}
