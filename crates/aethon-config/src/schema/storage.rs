//! `[storage]`: the database.

use aethon_core::storage::Synchronous;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The database.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// What an acknowledged message survives: `normal` a crash of the process, `full` a loss of power.
    #[schemars(schema_with = "crate::json_schema::synchronous")]
    pub synchronous: Synchronous,
}
