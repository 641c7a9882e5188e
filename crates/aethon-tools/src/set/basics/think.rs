//! `think`: room for a model without reasoning of its own to think in between. It does nothing; the thought stays in
//! the conversation.

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a thought in bytes.
const MAX_LEN: usize = 32 * 1024;

/// Accepts a thought.
pub(super) struct Think(ToolSpec);

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What you think.
    thought: String,
}

impl Think {
    pub(super) fn new() -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "think",
            "Writes a thought down and does nothing else. Use it to plan several steps, or to weigh what tools returned, \
             before you act.",
        )
        .with_role("thought", ArgumentRole::Text)
        .reading_only()
        .open_to(Trust::Guest);
        Self(spec)
    }
}

#[async_trait]
impl Tool for Think {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { thought } = self.0.parse(input)?;
        if thought.len() > MAX_LEN {
            return Err(ToolError::failed(format!(
                "the thought is longer than {MAX_LEN} bytes; think in parts"
            )));
        }
        Ok(ToolOutput::text("noted; go on"))
    }
}
