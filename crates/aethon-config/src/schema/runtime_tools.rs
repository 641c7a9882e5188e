//! `[runtime_tools]`: tools created at run time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools created at run time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuntimeTools {
    /// Whether the model may create tools: registers the tool `manage_tools`.
    pub enabled: bool,
}
