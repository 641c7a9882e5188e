//! Refuses commands that the owner has blocked, and those that an assistant should never run.
//!
//! The rules are in `aethon_guard`; this hook finds the commands among a call's arguments, by their role.

use std::path::Path;

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ArgumentRole, ToolContext, ToolSpec};
use async_trait::async_trait;
use serde_json::Value;

use aethon_guard::shell_rules::ShellRules;

/// Checks every command that a tool is about to run.
#[derive(Debug, Clone)]
pub struct CommandRules(ShellRules);

impl CommandRules {
    /// Combines the entries of `security.blocked_commands` with the built-in danger list. `home` is the user's own
    /// directory.
    pub fn new(blocked: &[String], home: Option<&Path>) -> Self {
        Self(ShellRules::new(blocked, home))
    }
}

#[async_trait]
impl Hook for CommandRules {
    fn name(&self) -> &'static str {
        "security"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        let commands = spec.roles.iter().filter(|(_, role)| **role == ArgumentRole::Command);
        for (name, _) in commands {
            let Some(value) = call.input.get(name) else { continue };
            if let Err(refusal) = self.0.check(&command_of(value)) {
                return ToolDecision::Deny(refusal.to_string());
            }
        }
        ToolDecision::Allow
    }
}

/// Returns the command in an argument, which is a string or a list of words.
fn command_of(value: &Value) -> String {
    match value {
        Value::String(command) => command.clone(),
        Value::Array(words) => words.iter().map(command_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
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
    async fn arguments_are_judged_by_their_role_and_not_by_the_tool() {
        let rules = CommandRules::new(&["rm -rf /".to_owned(), "sudo".to_owned()], None);
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "run it");
        let turn = TurnContext::of(TurnId::fresh(), &inbound);
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        for (role, input, is_refused) in [
            (ArgumentRole::Command, json!({"line": "sudo ls"}), true),
            (ArgumentRole::Command, json!({"line": ["rm", "-fr", "/"]}), true),
            (ArgumentRole::Command, json!({"line": "ls", "note": "sudo ls"}), false),
            (ArgumentRole::Command, json!({}), false),
            (ArgumentRole::Text, json!({"line": "sudo ls"}), false),
        ] {
            let spec = ToolSpec::new("any", "", json!({"type": "object"})).with_role("line", role);
            let call = ToolCall { id: "1".into(), name: "any".into(), input, opaque: None };
            let decision = rules.before_tool(&context, &spec, &call).await;
            assert_eq!(matches!(decision, ToolDecision::Deny(_)), is_refused, "{:?}", call.input);
        }
    }
}
