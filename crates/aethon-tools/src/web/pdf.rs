//! The text of a PDF.

use super::html::Readable;

pub(super) fn read(_bytes: &[u8]) -> Result<Readable, String> {
    Err("it is a PDF".to_owned())
}
