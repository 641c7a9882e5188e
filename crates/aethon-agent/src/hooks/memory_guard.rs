//! Refuses calls that would write a secret into a place that later conversations read: memories, learnings, the
//! workspace pages that go to the model, and SOPs.
//!
//! The memory itself refuses secrets too, from any source. This hook covers content kept in files, and it refuses a
//! call before its approval is requested.

use std::path::Path;

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::shaping::PAGES;
use aethon_core::tool::{ArgumentRole, ToolContext, ToolSpec};
use aethon_guard::MemoryGuard;
use async_trait::async_trait;
use serde_json::Value;

/// The endings of files that models read later: SOPs, and instructions of specialists.
const ENDINGS: [&str; 2] = [".sop.md", ".agent.md"];

/// Checks content that is about to be kept.
#[derive(Clone)]
pub struct MemorySecretGuard(pub MemoryGuard);

#[async_trait]
impl Hook for MemorySecretGuard {
    fn name(&self) -> &'static str {
        "memory_guard"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        let writes_page =
            of_role(spec, call, ArgumentRole::WritePath).any(|path| path.as_str().is_some_and(is_kept));
        let is_kept = |(name, _): &(&String, &Value)| {
            let role = spec.roles.get(*name);
            role == Some(&ArgumentRole::Remembered) || writes_page && role != Some(&ArgumentRole::WritePath)
        };
        let arguments = call.input.as_object().into_iter().flatten();
        for (name, value) in arguments.filter(is_kept) {
            if let Err(error) = check(&self.0, value) {
                return ToolDecision::Deny(format!("{name}: {error}"));
            }
        }
        ToolDecision::Allow
    }
}

fn of_role<'c>(
    spec: &'c ToolSpec,
    call: &'c ToolCall,
    role: ArgumentRole,
) -> impl Iterator<Item = &'c Value> {
    spec.roles.iter().filter(move |(_, is)| **is == role).filter_map(|(name, _)| call.input.get(name))
}

/// Returns whether models later read the contents of a file with this name.
fn is_kept(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    PAGES.iter().any(|page| page.eq_ignore_ascii_case(name))
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Checks all texts in a value, at any depth.
fn check(guard: &MemoryGuard, value: &Value) -> aethon_core::error::Result<()> {
    match value {
        Value::String(text) => guard.check(text),
        Value::Array(values) => values.iter().try_for_each(|value| check(guard, value)),
        Value::Object(values) => values.values().try_for_each(|value| check(guard, value)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::hook::TurnContext;
    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::message::Inbound;
    use aethon_core::surface::Unattended;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn secrets_are_refused_in_kept_content_of_any_tool() {
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "x");
        let context =
            ToolContext::of(&TurnContext::of(TurnId::fresh(), &inbound), Arc::new(Unattended), 1_000);
        let hook = MemorySecretGuard(MemoryGuard::default());
        let check = async |role: ArgumentRole, input: Value, is_refused: bool| {
            let spec = ToolSpec::new("any", "", json!({"type": "object"}))
                .with_role("what", role)
                .with_role("path", ArgumentRole::WritePath);
            let call = ToolCall { id: "1".into(), name: "any".into(), input, opaque: None };
            let decision = hook.before_tool(&context, &spec, &call).await;
            let ToolDecision::Deny(reason) = &decision else {
                assert!(!is_refused, "{:?}", call.input);
                return;
            };
            assert!(is_refused && !reason.contains("hunter2") && reason.contains("what"), "{reason}");
        };
        let secret = "the password is hunter2";
        check(ArgumentRole::Remembered, json!({"what": secret}), true).await;
        check(ArgumentRole::Remembered, json!({"what": ["fine", {"deep": secret}]}), true).await;
        check(ArgumentRole::Remembered, json!({"what": "my passwords are in Bitwarden"}), false).await;
        check(ArgumentRole::Text, json!({"what": secret}), false).await;
        check(ArgumentRole::Text, json!({"what": secret, "path": "notes/plan.md"}), false).await;
        check(ArgumentRole::Text, json!({"what": secret, "path": "CONTEXT.md"}), true).await;
        check(
            ArgumentRole::Text,
            json!({"what": secret, "path": "/home/ada/.aethon/workspace/learnings.md"}),
            true,
        )
        .await;
        check(ArgumentRole::Text, json!({"what": secret, "path": "sops/deploy.sop.md"}), true).await;
        check(ArgumentRole::Text, json!({"what": secret, "path": "agents/ops.agent.md"}), true).await;
    }
}
