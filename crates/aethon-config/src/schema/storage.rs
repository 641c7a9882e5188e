//! `[storage]`: the database.

use aethon_core::secret::Secret;
use aethon_core::storage::{FilePlace, Synchronous};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// Where the data is: empty for `aethon.db` in the home, or the address of a PostgreSQL database,
    /// `postgres://user:password@host/database`. Other files stay in the home, but for `files`.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub url: Secret,
    /// Where recordings and the long output of tools lie: `folder` is the home; with `database` every instance that uses the
    /// database has them.
    #[schemars(schema_with = "crate::json_schema::file_place")]
    pub files: FilePlace,
    /// How durable an acknowledged message is: `normal` survives a crash of the process, `full` a power failure.
    #[schemars(schema_with = "crate::json_schema::synchronous")]
    pub synchronous: Synchronous,
    /// The maximum size of the database in the home, in MiB. 0: no limit. Once it is reached, new messages are refused as on a full disk. You
    /// are warned at 80 %.
    pub max_mb: u64,
}

impl Storage {
    /// Whether the data is on a PostgreSQL server and not in the home.
    pub fn is_on_server(&self) -> bool {
        !self.url.is_empty()
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            url: Secret::default(),
            files: FilePlace::default(),
            synchronous: Synchronous::default(),
            max_mb: 16_384,
        }
    }
}
