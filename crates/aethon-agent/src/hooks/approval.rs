//! Has a person asked before the tools that the owner named run.

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ToolContext, ToolSpec};
use async_trait::async_trait;

/// Which tools need a person's word.
#[derive(Debug, Clone, Default)]
pub struct ApprovalRule {
    /// Whether any does.
    pub enabled: bool,
    /// Their names.
    pub requires_approval: Vec<String>,
}

#[async_trait]
impl Hook for ApprovalRule {
    fn name(&self) -> &'static str {
        "approval"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        if self.enabled && self.requires_approval.contains(&spec.name) {
            return ToolDecision::Ask(format!("`{}` is listed in `approval.requires_approval`", spec.name));
        }
        ToolDecision::Allow
    }
}
