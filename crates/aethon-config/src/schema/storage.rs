//! `[storage]`: the database.

use aethon_core::storage::Synchronous;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// What an acknowledged message survives: `normal` a crash of the process, `full` a loss of power.
    #[schemars(schema_with = "crate::json_schema::synchronous")]
    pub synchronous: Synchronous,
    /// How large the database may become, in MiB; 0 for no limit. Beyond it new messages are refused as on a full disk. You are
    /// warned at four fifths.
    pub max_mb: u64,
}

impl Default for Storage {
    fn default() -> Self {
        Self { synchronous: Synchronous::default(), max_mb: 16_384 }
    }
}
