//! Copies of files in a place that all instances of a storage share. Each file belongs to a kind, such as recordings, and has a name
//! of its own there.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;

/// The most bytes of a copy.
pub const MAX_COPY: usize = 512 << 20;

/// The copies of one kind of files.
#[async_trait]
pub trait FileCopies: Send + Sync {
    /// Stores a copy, until `until` or without an end. It is there as a whole or not at all.
    ///
    /// # Errors
    ///
    /// It has more than [`MAX_COPY`] bytes, or the storage cannot be written.
    async fn put(&self, name: &str, content: Vec<u8>, until: Option<Timestamp>) -> Result<()>;

    /// Returns the content of a copy. `None` if there is none, or it was removed.
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>>;

    /// Removes a copy, and remembers for a while that it was removed. `false` if there was none.
    async fn remove(&self, name: &str) -> Result<bool>;

    /// Returns all copies, and those that were removed lately, by name.
    async fn list(&self) -> Result<Vec<FileCopy>>;
}

/// A copy in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCopy {
    /// The name of the file.
    pub name: String,
    /// Whether it was removed.
    pub is_removed: bool,
}
