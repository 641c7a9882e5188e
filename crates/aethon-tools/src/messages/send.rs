//! `send_message`: sends a message to a person on a channel before the turn has ended.
//!
//! It takes the same durable path as every reply: stored first, then delivered, retried when the channel fails. It also
//! names the outside sources that the model has seen so far, so that strangers' words are not taken for the assistant's
//! own.

use std::sync::Arc;

use aethon_core::channel::{Courier, NewDelivery};
use aethon_core::clock::Clock;
use aethon_core::ids::SessionId;
use aethon_core::message::{Block, Outside};
use aethon_core::session::Transcripts;
use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a message in bytes.
const MAX_LEN: usize = 64 * 1024;
/// After this long a message is no longer useful.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// How many messages back strangers' words are looked for.
const LOOKED_BACK: usize = 200;

/// Sends messages.
pub(crate) struct SendMessage {
    spec: ToolSpec,
    courier: Arc<dyn Courier>,
    transcripts: Arc<dyn Transcripts>,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The channel, such as webchat.
    channel: String,
    /// The message, in Markdown.
    text: String,
    /// Who gets it on that channel: on webchat the name of a conversation. Leave it out for the channel's usual one.
    recipient: Option<String>,
}

impl SendMessage {
    pub(crate) fn new(
        courier: Arc<dyn Courier>,
        transcripts: Arc<dyn Transcripts>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "send_message",
            "Sends a message to somebody on a channel, besides your answer here. Do not use it to answer the person who \
             asks: that is what your answer is for.",
        )
        .with_role("channel", ArgumentRole::Text)
        .with_role("text", ArgumentRole::Text)
        .with_role("recipient", ArgumentRole::Text)
        .with_effect(Effect::Sends)
        // A message that the call has already queued counts.
        .repeatable();
        Self { spec, courier, transcripts, clock }
    }

    /// Returns whose words, besides the owner's, the model has seen in this conversation.
    async fn outside(&self, session: &SessionId) -> Result<Option<String>, ToolError> {
        let messages = self.transcripts.messages(session, None, LOOKED_BACK).await.map_err(|error| {
            tracing::warn!(%error, "the conversation could not be read");
            ToolError::failed("the message was not sent, because the storage failed; try again")
        })?;
        let mut sources: Vec<String> = Vec::new();
        let content = messages.iter().flat_map(|message| &message.content);
        for outside in content.filter_map(Block::outside) {
            let source = match outside {
                Outside::Tool(name) => format!("`{name}`"),
                Outside::Words => "a message from outside".to_owned(),
                Outside::File(_) => "a file from outside".to_owned(),
            };
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        Ok((!sources.is_empty()).then(|| sources.join(", ")))
    }
}

#[async_trait]
impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { channel, text, recipient } = self.spec.parse(input)?;
        if text.trim().is_empty() || text.len() > MAX_LEN {
            return Err(ToolError::failed(format!("`text` is empty or longer than {MAX_LEN} bytes")));
        }
        let recipient = recipient.filter(|recipient| !recipient.trim().is_empty());
        let told = recipient.as_ref().map(|recipient| format!(" to {recipient:?}")).unwrap_or_default();
        let content = NewDelivery::new(channel.trim(), text, self.clock.now() + LIFETIME)
            .with_recipient(recipient)
            .with_outside(self.outside(&context.session).await?)
            .with_again(context.is_again());
        let sent = self.courier.send(&context.session, &context.turn, content).await;
        sent.map_err(|error| ToolError::failed(format!("the message was not sent: {error}")))?;
        Ok(ToolOutput::text(format!("the message{told} on {} is on its way", channel.trim())))
    }
}
