//! `[runtime_tools]`: tools created at run time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools made while running.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuntimeTools {
    /// Registers `manage_tools`.
    pub enabled: bool,
}
