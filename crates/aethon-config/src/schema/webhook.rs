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
    /// The secret with which every request must be signed. Empty: requests need no signature, and the routes exist only on a
    /// loopback address.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub secret: Secret,
}

impl Default for Webhook {
    fn default() -> Self {
        Self { enabled: true, secret: Secret::default() }
    }
}
