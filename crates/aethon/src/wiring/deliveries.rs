//! The outbox for the HTTP application and the terminal, which wakes the delivery worker when something is made due again.

use std::sync::Arc;

use aethon_agent::outbox::DeliveryWake;
use aethon_core::channel::{
    Delivery, DeliveryOutcome, DeliveryPage, DeliveryState, NewDelivery, Outbox, WaitingDeliveries,
};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use async_trait::async_trait;
use jiff::Timestamp;

/// An outbox that wakes its worker at once when something becomes due.
pub(crate) struct Waking {
    pub(crate) outbox: Arc<dyn Outbox>,
    pub(crate) wake: DeliveryWake,
}

#[async_trait]
impl WaitingDeliveries for Waking {
    async fn make_due(&self, channel: &str) -> Result<usize> {
        let count = self.outbox.make_due(channel).await?;
        self.wake.ring();
        Ok(count)
    }

    async fn has_waiting(&self, channel: &str, recipient: &str) -> Result<bool> {
        self.outbox.has_waiting(channel, recipient).await
    }
}

#[async_trait]
impl Outbox for Waking {
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64> {
        let id = self.outbox.enqueue(session, turn, content).await?;
        self.wake.ring();
        Ok(id)
    }

    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> Result<Vec<Delivery>> {
        self.outbox.due(now, limit, but).await
    }

    async fn next_due(&self, but: &[String]) -> Result<Option<Timestamp>> {
        self.outbox.next_due(but).await
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()> {
        self.outbox.settle(id, outcome).await
    }

    async fn undelivered(&self, state: DeliveryState, limit: usize) -> Result<DeliveryPage> {
        self.outbox.undelivered(state, limit).await
    }

    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> Result<bool> {
        let is_known = self.outbox.retry_delivery(id, expires_at).await?;
        self.wake.ring();
        Ok(is_known)
    }

    async fn remove_delivery(&self, id: i64) -> Result<bool> {
        self.outbox.remove_delivery(id).await
    }
}
