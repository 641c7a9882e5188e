//! Notifies the person who planned a piece of work: through the outbox if a channel serves the conversation in which it was
//! planned, and otherwise by a message in it.

use std::sync::Arc;

use aethon_core::assistant::{Assistant, Posting};
use aethon_core::channel::Channels;
use aethon_core::ids::SessionId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::Destination;
use aethon_core::surface::Unattended;
use aethon_core::work::Work;

use super::places::CHANNEL;
use crate::notice::notice;

/// Reports progress to the person who planned the work.
pub(super) struct Notifier {
    pub(super) assistant: Arc<dyn Assistant>,
    pub(super) channels: Channels,
}

impl Notifier {
    /// Reports something at most once per key, whatever crashes in between.
    pub(super) async fn notify(&self, work: &Work, key: &str, text: String) {
        let session = &work.session_id;
        let of_session = || Destination {
            channel: session.channel().to_owned(),
            recipient: Some(session.name().to_owned()),
        };
        let to = work.tell_to.clone().unwrap_or_else(of_session);
        let notified = match self.channels.get(&to.channel).is_ok() {
            true => self.deliver(to, key, text).await,
            false => self.post(session, key, text).await,
        };
        if let Err(error) = notified {
            tracing::warn!(%error, %session, "a notice about work could not be delivered");
        }
    }

    async fn deliver(&self, to: Destination, key: &str, text: String) -> aethon_core::error::Result<()> {
        let Some(inbound) = notice(CHANNEL, WorkKind::Background, key, to, text) else { return Ok(()) };
        self.assistant.submit(inbound, Arc::new(Unattended)).await?.reply.wait().await.map(drop)
    }

    async fn post(&self, to: &SessionId, key: &str, text: String) -> aethon_core::error::Result<()> {
        self.assistant.post(to, &format!("work:{key}"), &Posting::new(text)).await.map(drop)
    }
}
