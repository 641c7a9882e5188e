//! An assistant inside another program: open it in a home of its own, ask, and close it in order.
//!
//! Run it with `cargo run -p aethon --example embedded`.

use std::time::Duration;

/// Asks the offline model one question and returns what it answered.
pub(crate) async fn converse(home: &std::path::Path) -> Result<String, aethon::Error> {
    let assistant = aethon::Builder::new().home(home).set("model.provider=echo").load()?.open().await?;
    let reply = assistant.ask("webchat:greeting", "Good morning").await?;
    assistant.shutdown(Duration::from_secs(5)).await;
    Ok(reply.text.clone())
}

#[expect(clippy::print_stdout, reason = "it is what the example shows")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    println!("{}", converse(home.path()).await?);
    Ok(())
}
