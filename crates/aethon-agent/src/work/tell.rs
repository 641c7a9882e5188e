//! Telling the owner of work: into the conversation in which it was planned, through the outbox where a channel brings it.

use std::sync::Arc;

use aethon_core::assistant::{Assistant, Posting};
use aethon_core::channel::Channels;
use aethon_core::ids::SessionId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Destination, Handling, Inbound};
use aethon_core::surface::Unattended;

use super::places::CHANNEL;

/// What telling takes.
pub(super) struct Teller {
    pub(super) assistant: Arc<dyn Assistant>,
    pub(super) channels: Channels,
}

impl Teller {
    /// Tells it once, whatever happens in between.
    pub(super) async fn tell(&self, to: &SessionId, key: &str, text: String) {
        let has_channel = self.channels.get(to.channel()).is_ok();
        let told =
            if has_channel { self.deliver(to, key, text).await } else { self.post(to, key, text).await };
        if let Err(error) = told {
            tracing::warn!(%error, session = %to, "the owner could not be told of work");
        }
    }

    async fn deliver(&self, to: &SessionId, key: &str, text: String) -> aethon_core::error::Result<()> {
        let Ok(session) = SessionId::of(CHANNEL, &format!("notices:{key}")) else { return Ok(()) };
        let dedupe = Dedupe { id: format!("work:{key}"), fingerprint: None, valid_for: None };
        let destination =
            Destination { channel: to.channel().to_owned(), recipient: Some(to.name().to_owned()) };
        let inbound = Inbound::say(session, "What is there to say about the work?")
            .from_sender(CHANNEL)
            .of_kind(WorkKind::Background)
            .with_oneshot(true)
            .with_dedupe(dedupe)
            .delivered_to(destination)
            .handled_by(Handling::Program { answer: text });
        self.assistant.submit(inbound, Arc::new(Unattended)).await?.reply.wait().await.map(drop)
    }

    async fn post(&self, to: &SessionId, key: &str, text: String) -> aethon_core::error::Result<()> {
        self.assistant.post(to, &format!("work:{key}"), &Posting::new(text)).await.map(drop)
    }
}
