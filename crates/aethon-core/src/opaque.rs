//! Data of a provider that only the provider understands.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Provider data that is sent back unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The dialect that created it, such as `anthropic`; others ignore it.
    pub dialect: String,
    /// The data itself.
    pub data: Value,
}
