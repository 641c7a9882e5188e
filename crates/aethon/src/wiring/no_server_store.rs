//! The storage on a PostgreSQL server in a program that was built without it (the feature `postgres`): a refusal.

use aethon_core::storage::Storage;
use aethon_store::OpenMode;

use crate::error::{Error, Result};
use crate::prepared::Prepared;

fn left_out() -> Error {
    Error::refused(
        "storage.url names a server, but this program was built without PostgreSQL (the feature `postgres`): remove the key, or build it with the feature",
    )
}

/// Refuses to open the storage at `storage.url`.
pub(crate) async fn storage(
    _prepared: &Prepared,
    _mode: OpenMode,
    _max_oneshot_bytes: u64,
) -> Result<Storage> {
    Err(left_out())
}

/// Refuses to describe the database.
pub(crate) async fn check(_prepared: &Prepared) -> Result<(String, String)> {
    Err(left_out())
}
