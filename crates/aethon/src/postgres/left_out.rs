//! A program that was built without PostgreSQL: an address of a server is refused.

use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_core::storage::rows::RowStorage;
use aethon_store::OpenMode;

use super::terms::Checked;
use crate::error::{Error, Result};
use crate::prepared::Prepared;

fn refused<T>() -> Result<T> {
    Err(Error::refused(
        "this program was built without `postgres`; choose another storage, or build it with the feature `postgres` of the crate aethon",
    ))
}

/// Refuses `storage.url`.
#[expect(clippy::unused_async, reason = "the interface of the module that it stands for")]
pub(crate) async fn storage(_: &Prepared, _: OpenMode, _: u64) -> Result<Storage> {
    refused()
}

/// Refuses `storage.url`.
#[expect(clippy::unused_async, reason = "the interface of the module that it stands for")]
pub(crate) async fn check(_: &Prepared) -> Result<Checked> {
    refused()
}

/// The rows of a server, which are never there.
pub(crate) enum ServerRows {}

#[expect(clippy::unused_async, reason = "the interface of the module that it stands for")]
impl ServerRows {
    /// Refuses the address.
    pub(crate) async fn open(_: &Secret) -> Result<Self> {
        refused()
    }

    pub(crate) fn words(&self) -> &str {
        match *self {}
    }

    pub(crate) async fn users(&self) -> Result<Vec<String>> {
        match *self {}
    }

    pub(crate) async fn is_unfinished(&self) -> Result<bool> {
        match *self {}
    }

    pub(crate) fn into_rows(self) -> Box<dyn RowStorage> {
        match self {}
    }
}
