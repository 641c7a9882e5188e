//! Keeps long-term memory out of temporary sessions: nothing that is said in one is remembered, even if a model means well.

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ToolContext, ToolSpec};
use async_trait::async_trait;

/// Refuses the tools of memory in temporary sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemporaryBounds;

#[async_trait]
impl Hook for TemporaryBounds {
    fn name(&self) -> &'static str {
        "temporary"
    }

    async fn before_tool(&self, context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        if !context.session.is_temporary() || !spec.keeps_for_later() {
            return ToolDecision::Allow;
        }
        ToolDecision::Deny(format!(
            "`{}` keeps things for later conversations, and this conversation is temporary: the person wants nothing of it to be \
             kept; go on without it",
            spec.name
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::message::Inbound;
    use aethon_core::surface::Unattended;
    use aethon_core::tool::ArgumentRole;
    use aethon_core::turn::TurnContext;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn nothing_of_a_temporary_session_is_remembered() {
        let plain = ToolSpec::new("file_read", "", json!({"type": "object"}));
        let keeps = ToolSpec::new("manage_memory", "", json!({"type": "object"}))
            .with_role("content", ArgumentRole::Remembered);
        let temporary = SessionId::temporary("webchat", None).unwrap();
        for (session, spec, is_allowed) in [
            (temporary.clone(), &plain, true),
            (temporary, &keeps, false),
            (SessionId::of("webchat", "a").unwrap(), &keeps, true),
        ] {
            let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(session, "x"));
            let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
            let call = ToolCall { id: "1".into(), name: spec.name.clone(), input: json!({}), opaque: None };
            let decision = TemporaryBounds.before_tool(&context, spec, &call).await;
            assert_eq!(matches!(decision, ToolDecision::Allow), is_allowed, "{}", spec.name);
        }
    }
}
