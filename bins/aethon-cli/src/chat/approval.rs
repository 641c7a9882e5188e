//! A request for approval, as the daemon sent it.

use serde_json::Value;

use super::event::ChatEvent;

/// An approval request.
#[derive(Debug, Clone)]
pub(super) struct ApprovalRequest {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) summary: String,
    pub(super) preview: Option<String>,
    pub(super) session_scope: String,
}

impl ApprovalRequest {
    /// Returns the request in this event, if any.
    pub(super) fn of(event: &ChatEvent) -> Option<Self> {
        let ChatEvent::Approval { id, tool, input, summary, preview, session_scope } = event.clone() else {
            return None;
        };
        Some(Self { id, tool, input, summary, preview, session_scope })
    }
}
