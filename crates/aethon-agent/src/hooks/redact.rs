//! Removes secrets from tool output before a model, a transcript or a log sees them.

use std::borrow::Cow;

use aethon_core::hook::Hook;
use aethon_core::live::Live;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::{OutputBlock, ToolContext};
use aethon_guard::redact::Redactor;
use async_trait::async_trait;

/// Masks secrets in tool output.
#[derive(Clone)]
pub struct RedactOutput(pub Live<Redactor>);

impl RedactOutput {
    fn mask(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.0.get().redact(text) {
            *text = redacted;
        }
    }
}

#[async_trait]
impl Hook for RedactOutput {
    fn name(&self) -> &'static str {
        "redact"
    }

    async fn after_tool(&self, _context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        self.mask(&mut result.output);
        for block in &mut result.blocks {
            if let OutputBlock::File { name, text, .. } = block {
                self.mask(name);
                self.mask(text);
            }
        }
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
    async fn files_for_the_person_and_hidden_secrets_are_masked_too() {
        let turn = TurnContext::of(TurnId::fresh(), &Inbound::say(SessionId::of("cli", "a").unwrap(), ""));
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        let call = ToolCall { id: "1".into(), name: "t".into(), input: json!({}), opaque: None };
        let secret = "password=hunter2hunter2";
        let mut result = ToolResult::ok(&call, format!("{secret} hunter2\u{200b}hunter2"));
        let (name, mime, text) = (secret.to_owned(), "text/plain".to_owned(), secret.to_owned());
        result.blocks.push(OutputBlock::File { name, mime, text });
        let redactor = Redactor::new([aethon_core::secret::Secret::new("hunter2hunter2")]);
        RedactOutput(Live::new(redactor)).after_tool(&context, &call, &mut result).await;
        assert!(!format!("{result:?}").contains("hunter2"), "{result:?}");
        assert!(result.output.contains("***"), "{result:?}");
    }
}
