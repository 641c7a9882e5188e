//! `[storage]`: the database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an acknowledged message survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Synchronous {
    /// A crash of the process.
    #[default]
    Normal,
    /// A loss of power.
    Full,
}

/// The database.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// What an acknowledged message survives.
    pub synchronous: Synchronous,
}
