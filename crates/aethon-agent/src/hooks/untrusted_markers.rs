//! Leaves tool output unmarked, for owners who have switched `security.mark_untrusted_content` off.

use aethon_core::hook::Hook;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::ToolContext;
use async_trait::async_trait;

/// Removes the outside-content mark from every result.
#[derive(Debug, Clone, Copy, Default)]
pub struct StripUntrustedMarkers;

#[async_trait]
impl Hook for StripUntrustedMarkers {
    fn name(&self) -> &'static str {
        "unmarked"
    }

    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        result.untrusted = None;
    }
}
