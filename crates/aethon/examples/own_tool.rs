//! A tool of one's own: the model calls it like any other, under the same guards.
//!
//! Run it with `cargo run -p aethon --example own_tool`.

use std::time::Duration;

use aethon::async_trait::async_trait;
use aethon::core::schemars::{self, JsonSchema};
use aethon::core::serde_json::Value;
use aethon::core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;

/// Rolls dice that always show the same, so that the example can be tested.
struct Dice(ToolSpec);

/// What the model may send. It reads the comments on the fields.
#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// How many sides the die has.
    #[schemars(range(min = 2))]
    sides: u64,
}

impl Dice {
    fn new() -> Self {
        let spec = ToolSpec::of::<Arguments>("roll_dice", "Rolls one die and says what it shows.");
        Self(spec.reading_only().with_timeout(Duration::from_secs(1)))
    }
}

#[async_trait]
impl Tool for Dice {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { sides } = self.0.parse(input)?;
        if sides < 2 {
            return Err(ToolError::failed("`sides` must be at least 2"));
        }
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
