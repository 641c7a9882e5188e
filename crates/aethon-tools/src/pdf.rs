//! The text of a PDF.

/// The text.
pub(crate) fn text(_bytes: &[u8]) -> Result<String, String> {
    Err("not yet".into())
}
