//! Ways out: channels that deliver replies to people, and the durable outbox in front of them.
//!
//! A reply that goes to a channel is first a row of the outbox, written in the transaction that ends its turn; then it
//! is delivered, retried, expired or reported as failed. The channel never sees a reply that is not stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;
use crate::ids::{SessionId, TurnId};

/// A way out.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, such as `webchat` or `telegram`.
    fn name(&self) -> &str;

    /// Whether this can be a recipient here; what is wrong with it otherwise. Asked before anything is done for a delivery
    /// that could only be given up.
    fn check_recipient(&self, _recipient: Option<&str>) -> Result<(), crate::error::Error> {
        Ok(())
    }

    /// Delivers. The same delivery may be handed over twice after a crash; its `id` tells.
    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError>;
}

/// The channels that run, by name. Fixed once the program is up.
#[derive(Clone, Default)]
pub struct Channels(Arc<BTreeMap<String, Arc<dyn Channel>>>);

impl Channels {
    /// Collects channels.
    pub fn new(channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Self {
        Self(Arc::new(channels.into_iter().map(|channel| (channel.name().to_owned(), channel)).collect()))
    }

    /// The channel of that name, if it runs.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Channel>> {
        self.0.get(name)
    }

    /// The names of those that run.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// A delivery that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// The channel.
    pub channel: String,
    /// Who gets it there.
    pub recipient: Option<String>,
    /// The Markdown.
    pub text: String,
    /// When it is too old to be of use.
    pub expires_at: Timestamp,
}

/// A stored delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Its number, the same on every attempt.
    pub id: i64,
    /// The session that it comes from.
    pub session: SessionId,
    /// The turn that it comes from.
    pub turn: TurnId,
    /// What goes where.
    pub content: NewDelivery,
    /// How often it was tried before.
    pub attempts: u32,
}

/// A delivery that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct DeliveryError {
    /// What happened.
    pub message: String,
    /// Whether trying again can help.
    pub retryable: bool,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum DeliveryOutcome {
    /// It arrived.
    Delivered,
    /// It is tried again.
    Retry {
        /// When.
        at: Timestamp,
        /// What went wrong.
        error: String,
    },
    /// It is given up.
    Failed {
        /// Why.
        error: String,
    },
}

/// The storage of deliveries.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Deliveries whose time has come, oldest first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Delivery>>;

    /// When the next one is due, if any waits.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Records an attempt.
    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()>;
}
