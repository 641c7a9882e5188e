//! Takes secrets out of tool output before a model, a transcript or a log sees it.

use std::borrow::Cow;

use aethon_core::hook::Hook;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::redact::Redactor;
use aethon_core::tool::ToolContext;
use async_trait::async_trait;

/// Masks secrets in tool output.
#[derive(Clone)]
pub struct RedactOutput(pub Redactor);

#[async_trait]
impl Hook for RedactOutput {
    fn name(&self) -> &'static str {
        "redact"
    }

    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        if let Cow::Owned(redacted) = self.0.redact(&result.output) {
            result.output = redacted;
        }
    }
}
