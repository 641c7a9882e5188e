//! A request for approval, as the daemon sent it.

use serde_json::Value;

/// An approval request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApprovalRequest {
    /// Its id.
    pub(crate) id: String,
    /// The tool.
    pub(crate) tool: String,
    /// The exact arguments.
    pub(crate) input: Value,
    /// A summary of what would happen.
    pub(crate) summary: String,
    /// The change as a diff, if the tool can tell.
    pub(crate) preview: Option<String>,
    /// The calls that an approval for the rest of the conversation would allow.
    pub(crate) session_scope: String,
}
