//! The text of a PDF that was fetched.

use super::html::Readable;

/// The text, as far as it is kept of any page.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<Readable, String> {
    let text = crate::pdf::text(bytes)?;
    let end = text.floor_char_boundary(most);
    Ok(Readable { title: String::new(), text: text[..end].to_owned(), is_cut: end < text.len() })
}
