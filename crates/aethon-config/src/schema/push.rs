//! `[push]`: notifications of devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Notifications of devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Push {
    /// Whether devices that asked for it are notified of approvals and replies while no page is in sight. Nothing is sent before a
    /// device asks.
    pub enabled: bool,
}

impl Default for Push {
    fn default() -> Self {
        Self { enabled: true }
    }
}
