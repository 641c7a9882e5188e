//! A call of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::opaque::Opaque;

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call; unique within the turn.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, a JSON object. Arguments that were not valid JSON are kept as a JSON string, and the tool
    /// executor answers them with an error that says so.
    pub input: Value,
    /// Data that the provider wants back with the call (Gemini's thought signature, for example).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
}
