//! The channels of an assistant, and the way by which a running turn sends to them.
//!
//! Channels need the assistant, and its tools need the channels; so the tools hold a cell that is filled once the channels
//! exist. A program beside the daemon fills its cell with the same channels: the daemon delivers the messages that it stores.

use std::sync::Arc;

use aethon_agent::outbox::DeliveryWake;
use aethon_config::Config;
use aethon_core::assistant::Assistant;
use aethon_core::channel::{Channel, Channels, Courier, DeliveryOutcome, NewDelivery, Outbox};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_http::ws::{Hub, WebChat};
use async_trait::async_trait;

/// All configured channels: the page, the messengers, and those of the embedding program.
pub(crate) fn channels(
    config: &Config,
    assistant: Arc<dyn Assistant>,
    hub: Arc<Hub>,
    others: &[Arc<dyn Channel>],
) -> Result<Channels> {
    let webchat: Arc<dyn Channel> = Arc::new(WebChat::new(assistant, hub));
    let webchat = config.channels.webchat.enabled.then_some(webchat);
    Channels::new(webchat.into_iter().chain(others.iter().cloned()))
}

/// What deliveries to channels need.
#[derive(Clone, Default)]
pub(crate) struct Deliveries {
    /// Wakes the delivery worker.
    pub(crate) wake: DeliveryWake,
    /// The channels, once they exist.
    pub(crate) channels: Live<Channels>,
}

impl Deliveries {
    /// Creates the courier that sends through this outbox.
    pub(crate) fn courier(&self, outbox: Arc<dyn Outbox>) -> Arc<dyn Courier> {
        Arc::new(ThroughOutbox { deliveries: self.clone(), outbox })
    }
}

struct ThroughOutbox {
    deliveries: Deliveries,
    outbox: Arc<dyn Outbox>,
}

#[async_trait]
impl Courier for ThroughOutbox {
    fn channels(&self) -> Vec<String> {
        self.deliveries.channels.get().names().map(str::to_owned).collect()
    }

    async fn send(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<()> {
        self.deliveries
            .channels
            .get()
            .get(&content.channel)?
            .check_recipient(content.recipient.as_deref())?;
        self.outbox.enqueue(session, turn, content).await?;
        self.deliveries.wake.ring();
        Ok(())
    }

    async fn is_waiting(&self, channel: &str, recipient: &str) -> Result<bool> {
        self.outbox.has_waiting(channel, recipient).await
    }

    async fn recovered(&self, channel: &str) -> Result<()> {
        let made_due = self.outbox.make_due(channel).await;
        self.deliveries.wake.ring();
        let count = made_due?;
        if count > 0 {
            tracing::info!(channel, count, "deliveries that waited for the channel go out now");
        }
        Ok(())
    }

    async fn returned(&self, delivery: i64, error: &str) -> Result<()> {
        self.outbox.settle(delivery, DeliveryOutcome::Returned { error: error.to_owned() }).await
    }
}
