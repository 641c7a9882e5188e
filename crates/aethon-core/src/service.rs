//! What the HTTP application and the terminal tell about the running service.

use serde_json::Value;

/// The configuration as it may be shown: masked.
pub trait ConfigView: Send + Sync {
    /// Nested objects with every secret replaced by `***`.
    fn dump(&self) -> Value;

    /// The JSON Schema of the configuration file.
    fn schema(&self) -> Value;
}
