//! Requires a person's approval before the tools that the owner has named.

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ToolContext, ToolSpec, fits};
use async_trait::async_trait;

/// The entry that covers every way of writing a file, because owners mean all of them by it.
const WRITES: &str = "file_write";
/// The entry that covers every tool that sends something out of the machine. No tool has this name.
pub const OUTBOUND: &str = "outbound";

/// Which tools need approval.
#[derive(Debug, Clone, Default)]
pub struct ApprovalRule {
    /// Whether any tool does.
    pub enabled: bool,
    /// Their names. A `*` matches any part of a name: `files__*` is every tool of the MCP server `files`. `file_write`
    /// covers every tool that writes files, and `outbound` every tool that sends.
    pub requires_approval: Vec<String>,
}

#[async_trait]
impl Hook for ApprovalRule {
    fn name(&self) -> &'static str {
        "approval"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        let covers = |entry: &&String| covers(entry, spec);
        match self.requires_approval.iter().find(covers).filter(|_| self.enabled) {
            Some(entry) if *entry == spec.name => {
                ToolDecision::Ask(format!("`{entry}` is listed in `approval.requires_approval`"))
            }
            Some(entry) => ToolDecision::Ask(format!(
                "`{}` falls under `{entry}` of `approval.requires_approval`",
                spec.name
            )),
            None => ToolDecision::Allow,
        }
    }
}

/// Returns whether an entry of `approval.requires_approval` covers this tool.
fn covers(entry: &str, spec: &ToolSpec) -> bool {
    // Taken literally, an entry with a space before it would protect nothing.
    let entry = entry.trim();
    fits(&spec.name, entry) || entry == WRITES && spec.writes_files() || entry == OUTBOUND && spec.sends()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::message::Inbound;
    use aethon_core::surface::Unattended;
    use aethon_core::tool::{ArgumentRole, Effect};
    use aethon_core::turn::TurnContext;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn file_write_approval_covers_every_way_of_writing_files() {
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "x");
        let turn = TurnContext::of(TurnId::existing("t"), &inbound);
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        let spec = |name: &str, role| ToolSpec::new(name, "", json!({})).with_role("path", role);
        let check = async |enabled: bool, spec: ToolSpec, expected: Option<&str>| {
            let requires_approval = vec!["shell".to_owned(), WRITES.to_owned()];
            let rule = ApprovalRule { enabled, requires_approval };
            let call = ToolCall { id: "1".into(), name: spec.name.clone(), input: json!({}), opaque: None };
            let asked = match rule.before_tool(&context, &spec, &call).await {
                ToolDecision::Ask(reason) => Some(reason),
                _ => None,
            };
            assert_eq!(asked.as_deref(), expected, "{}", spec.name);
        };
        let listed = "`file_write` is listed in `approval.requires_approval`";
        let covered = "`file_edit` falls under `file_write` of `approval.requires_approval`";
        check(true, spec("file_write", ArgumentRole::WritePath), Some(listed)).await;
        check(true, spec("file_edit", ArgumentRole::WritePath), Some(covered)).await;
        check(true, spec("file_read", ArgumentRole::ReadPath), None).await;
        check(false, spec("file_edit", ArgumentRole::WritePath), None).await;
    }

    #[test]
    fn outbound_covers_the_tools_that_send_and_no_others() {
        let spec = |name: &str| ToolSpec::new(name, "", json!({}));
        for (spec, expected) in [
            (spec("web_fetch").with_role("url", ArgumentRole::Url), true),
            (spec("send_message").with_effect(Effect::Sends), true),
            (spec("schedule_task").with_effect(Effect::Sends).with_effect(Effect::ActsLater), true),
            (spec("shell").with_role("command", ArgumentRole::Command).with_effect(Effect::RunsCode), false),
            (spec("record_learning").with_effect(Effect::ActsLater), false),
            (spec("files__read").with_effect(Effect::Consults), false),
            (spec("file_write").with_role("path", ArgumentRole::WritePath), false),
            (spec("file_read").with_role("path", ArgumentRole::ReadPath), false),
        ] {
            assert_eq!(covers(OUTBOUND, &spec), expected, "{}", spec.name);
            assert_eq!(covers(" outbound ", &spec), expected, "{}", spec.name);
        }
    }
}
