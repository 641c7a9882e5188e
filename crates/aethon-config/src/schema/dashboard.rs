//! `[dashboard]`: the operations page, and the token that guards the whole application.

use aethon_core::secret::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The dashboard and its access token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dashboard {
    /// Whether the dashboard and its API exist.
    pub enabled: bool,
    /// The access token for all pages and APIs. Empty: no authentication, which is permitted only on a loopback address.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub auth_token: Secret,
    /// How many days a browser stays signed in, also when it is closed meanwhile. A change counts for new sign-ins.
    pub session_days: u32,
}

impl Default for Dashboard {
    fn default() -> Self {
        Self { enabled: true, auth_token: Secret::default(), session_days: 30 }
    }
}
