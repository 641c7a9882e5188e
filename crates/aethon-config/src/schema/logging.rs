//! `[logging]`: the service's own log.

use aethon_core::log::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The service's own log.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Logging {
    /// The least severe level that is logged.
    #[schemars(schema_with = "crate::json_schema::level")]
    pub level: Level,
    /// The number of daily log files to keep.
    pub keep_files: u32,
}

impl Default for Logging {
    fn default() -> Self {
        Self { level: Level::default(), keep_files: 7 }
    }
}
