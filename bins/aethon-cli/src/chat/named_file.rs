//! A file on its way to the assistant, from a path or from the clipboard.

use aethon::core::message::Attachment;
use anyhow::Result;

/// A file that goes with a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedFile {
    /// Its name, without its folder.
    pub(crate) name: String,
    /// Its media type, by its name.
    pub(crate) mime: &'static str,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
}

impl NamedFile {
    /// Returns it as an attachment, if it is of a kind that can be attached.
    pub(crate) fn attachment(&self) -> Result<Attachment> {
        aethon::attachment(&self.name, self.mime, &self.bytes).map_err(anyhow::Error::msg)
    }
}
