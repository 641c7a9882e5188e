//! Files that a person has picked for a message that is not sent yet.
//!
//! A frame of the chat is small, and a file is sent once however often the message is changed before it is sent. What is uploaded
//! waits under an id until a message names it, for a day at most.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;

/// The largest file, in bytes.
pub const MAX_UPLOAD: usize = 20 << 20;

/// How long a file waits, in hours.
pub const UPLOAD_HOURS: u64 = 24;

/// A file that waits for its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Upload {
    /// Its id, which a message names.
    pub id: String,
    /// Its name, without a path.
    pub name: String,
    /// Its media type, without parameters.
    pub mime: String,
    /// Its length in bytes.
    pub size: usize,
}

/// A file with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files that wait for their messages. They survive a restart.
#[async_trait]
pub trait Uploads: Send + Sync {
    /// Keeps a file, whose name and type were checked. Fails as [full](crate::error::Error::full) if too many wait already.
    async fn keep(&self, name: &str, mime: &str, bytes: Vec<u8>) -> Result<Upload>;

    /// Returns the file with this id; `None` if there is none any more. It stays, because the message may be sent once more.
    async fn file(&self, id: &str) -> Result<Option<UploadedFile>>;

    /// Removes a file before its day is over, because its message belongs to a temporary conversation.
    async fn forget(&self, _id: &str) -> Result<()> {
        Ok(())
    }
}

/// A place where nothing is kept, for a program without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUploads;

#[async_trait]
impl Uploads for NoUploads {
    async fn keep(&self, _name: &str, _mime: &str, _bytes: Vec<u8>) -> Result<Upload> {
        Err(crate::error::Error::unavailable("this program keeps no uploaded files"))
    }

    async fn file(&self, _id: &str) -> Result<Option<UploadedFile>> {
        Ok(None)
    }
}
