//! A tool of one's own: the model calls it like any other, under the same guards.
//!
//! Run it with `cargo run -p aethon --example custom_tool`.

use std::collections::BTreeMap;
use std::time::Duration;

use aethon::core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use serde_json::{Value, json};

/// Rolls dice that always show the same, so that the example can be tested.
struct Dice(ToolSpec);

impl Dice {
    fn new() -> Self {
        Self(ToolSpec {
            name: "roll_dice".into(),
            description: "Rolls one die and says what it shows.".into(),
            parameters: json!({
                "type": "object",
                "properties": {"sides": {"type": "integer", "minimum": 2, "description": "How many sides it has."}},
                "required": ["sides"],
            }),
            roles: BTreeMap::new(),
            untrusted_output: false,
            timeout: Some(Duration::from_secs(1)),
        })
    }
}

#[async_trait]
impl Tool for Dice {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let sides = input["sides"].as_u64().filter(|&sides| sides >= 2);
        let sides = sides.ok_or_else(|| ToolError::failed("sides must be a whole number of at least 2"))?;
        Ok(ToolOutput::text(format!("the die with {sides} sides shows {}", sides.div_ceil(2))))
    }
}

/// Lets the scripted model call the tool and returns its answer.
pub(crate) async fn roll(home: &std::path::Path) -> Result<String, aethon::Error> {
    let builder = aethon::Builder::new().home(home).set("model.provider=fake").tool(Dice::new());
    let assistant = builder.load()?.open().await?;
    let reply = assistant.ask("webchat:dice", r#"!tool roll_dice {"sides": 20}"#).await?;
    assistant.shutdown(Duration::from_secs(5)).await;
    Ok(reply.text.clone())
}

#[expect(clippy::print_stdout, reason = "it is what the example shows")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    println!("{}", roll(home.path()).await?);
    Ok(())
}
