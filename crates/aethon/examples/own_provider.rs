//! A model of one's own: here one that says everything backwards.
//!
//! Run it with `cargo run -p aethon --example own_provider`.

use std::sync::Arc;
use std::time::Duration;

use aethon::async_trait::async_trait;
use aethon::core::model::{
    Capabilities, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, Readiness, StopReason,
    Usage,
};
use futures_util::stream;

/// Answers with the newest message, backwards.
struct Backwards(Arc<Capabilities>);

impl Backwards {
    fn new() -> Self {
        Self(Arc::new(
            Capabilities::new("example", "backwards").with_sizes(8_000, 1_000).with_abilities(false, false),
        ))
    }
}

#[async_trait]
impl ModelProvider for Backwards {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let asked = request.messages.last().map(|message| message.text()).unwrap_or_default();
        let answer: String = asked.chars().rev().collect();
        let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
        let events =
            [ModelEvent::Text(answer), ModelEvent::Finished { stop: StopReason::End, usage, model: None }];
        Ok(Box::pin(stream::iter(events.map(Ok))))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("always there".into())
    }
}

/// Asks the model of our own.
pub(crate) async fn converse(home: &std::path::Path) -> Result<String, aethon::Error> {
    let assistant = aethon::Builder::new().home(home).model(Backwards::new()).load()?.open().await?;
    let reply = assistant.ask("webchat:mirror", "stressed").await?;
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
