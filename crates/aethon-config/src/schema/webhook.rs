//! `[webhook]`: requests from other programs.

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Inbound webhooks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Webhook {
    /// Whether the webhook routes exist.
    pub enabled: bool,
    /// With it set, every request must be signed. Empty beyond loopback, the routes do not exist.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub secret: Secret,
}

impl Default for Webhook {
    fn default() -> Self {
        Self { enabled: true, secret: Secret::default() }
    }
}
