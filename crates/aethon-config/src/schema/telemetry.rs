//! `[telemetry]`: the history of tool and model calls.

use std::collections::BTreeMap;

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The history of tool and model calls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Telemetry {
    /// Whether the history is stored.
    pub enabled: bool,
    /// Days after which entries are removed. 0: never.
    pub keep_days: u32,
    /// The address of an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. Empty: no export.
    pub otlp_endpoint: String,
    /// Headers for requests to the collector.
    #[schemars(schema_with = "crate::json_schema::secrets")]
    pub otlp_headers: BTreeMap<String, Secret>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { enabled: true, keep_days: 30, otlp_endpoint: String::new(), otlp_headers: BTreeMap::new() }
    }
}
