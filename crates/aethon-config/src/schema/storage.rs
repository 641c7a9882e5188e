//! `[storage]`: the database.

use aethon_core::storage::Synchronous;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// How durable an acknowledged message is: `normal` survives a crash of the process, `full` a power failure.
    #[schemars(schema_with = "crate::json_schema::synchronous")]
    pub synchronous: Synchronous,
    /// The maximum size of the database, in MiB. 0: no limit. Once it is reached, new messages are refused as on a full disk. You
    /// are warned at 80 %.
    pub max_mb: u64,
}

impl Default for Storage {
    fn default() -> Self {
        Self { synchronous: Synchronous::default(), max_mb: 16_384 }
    }
}
