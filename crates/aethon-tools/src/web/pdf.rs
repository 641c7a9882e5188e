//! The text of a fetched PDF.

use super::html::Readable;
use crate::cancel::Cancelled;

/// Extracts the text, up to `most` bytes.
pub(super) fn read(bytes: &[u8], most: usize, cancelled: &Cancelled) -> Result<Readable, String> {
    let text = crate::pdf::text(bytes, cancelled)?;
    let end = text.floor_char_boundary(most);
    Ok(Readable { title: String::new(), text: text[..end].to_owned(), is_cut: end < text.len() })
}
