//! An answer while it is made: print each piece of text as it comes, and act on what else happens.
//!
//! Run it with `cargo run -p aethon --example ask_stream`.

use std::time::Duration;

use aethon::core::surface::{ToolPhase, TurnEvent};
use serde_json::json;

/// Asks the scripted model, and writes its answer as it comes.
pub(crate) async fn converse(
    home: &std::path::Path,
    mut out: impl std::io::Write,
) -> Result<String, Box<dyn std::error::Error>> {
    let settings = json!({ "model": { "provider": "fake" }, "budget": { "daily_usd": 2.5 } });
    let assistant = aethon::Builder::new().home(home).settings(settings).load()?.open().await?;
    let mut answer = assistant.ask_stream("webchat:stream", "!stream 4 10\n!say Done.").await?;
    let mut whole = String::new();
    while let Some(event) = answer.next().await {
        match event? {
            TurnEvent::Text(piece) => {
                write!(out, "{piece}")?;
                out.flush()?;
            }
            TurnEvent::Tool(call) if call.phase == ToolPhase::Running => writeln!(out, "[{}]", call.name)?,
            TurnEvent::Done(reply) => whole = reply.text.clone(),
            _ => {}
        }
    }
    assistant.shutdown(Duration::from_secs(5)).await;
    Ok(whole)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    converse(home.path(), std::io::stdout().lock()).await?;
    Ok(())
}
