//! Channels: ways to people and back, and the durable outbox in front of the way out.
//!
//! While a channel [runs](Channel::run), it hands what people send to the [`Assistant`]; whoever owns the service owns
//! the task. A reply for a channel is first a row of the outbox, written in the transaction that ends its turn; then it
//! is delivered, retried, expired or reported as failed. A channel never sees a reply that is not stored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::assistant::Assistant;
pub use crate::delivery::{NewDelivery, made_of};
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::session::TurnRecord;
use crate::shutdown::Shutdown;
use crate::surface::Surface;
use crate::words::words;

mod callback;
mod records;
mod status;

pub use callback::{CallTerms, CallbackOutcome, PlatformCalls};
pub use records::{ChannelRecords, DELIVERY_RECORDS};
pub use status::{ChannelHealth, ChannelState, ChannelStatus};

/// A way to people and back.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, such as `webchat` or `telegram`.
    fn name(&self) -> &str;

    /// Checks whether this can be a recipient here, and explains why not. Called before any work is done for a
    /// delivery that could only fail.
    fn check_recipient(&self, _recipient: Option<&str>) -> Result<()> {
        Ok(())
    }

    /// Receives messages and hands them to the assistant until the program shuts down. If it returns an error it is
    /// restarted after a pause, so a broken connection may simply be an error; if it returns `Ok` it has nothing more
    /// to do. A channel that only sends, or that receives in another way, waits for the shutdown.
    async fn run(&self, _assistant: Arc<dyn Assistant>, mut shutdown: Shutdown) -> Result<()> {
        shutdown.requested().await;
        Ok(())
    }

    /// Delivers. After a crash the same delivery may be handed over twice, with the same `id`.
    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError>;

    /// Returns the channel's own status. `None` if it has nothing to say beyond that it runs.
    fn status(&self) -> Option<ChannelStatus> {
        None
    }

    /// Returns a surface for a turn of this channel that is resumed after a restart, if a person there can watch.
    fn watcher(&self, _record: &TurnRecord) -> Option<Arc<dyn Surface>> {
        None
    }

    /// Returns the handler for HTTP calls by its platform, if there are any.
    fn calls(&self) -> Option<Arc<dyn PlatformCalls>> {
        None
    }
}

/// The configured channels, by name. Fixed once the program is running. Cheap to clone; clones share it.
#[derive(Clone, Default)]
pub struct Channels(Arc<BTreeMap<String, Entry>>);

struct Entry {
    channel: Arc<dyn Channel>,
    health: Mutex<ChannelHealth>,
}

impl Channels {
    /// Collects channels. Fails if two have the same name.
    pub fn new(channels: impl IntoIterator<Item = Arc<dyn Channel>>) -> Result<Self> {
        let mut by_name = BTreeMap::new();
        for channel in channels {
            let name = channel.name().to_owned();
            let entry = Entry { channel, health: Mutex::default() };
            if by_name.insert(name.clone(), entry).is_some() {
                return Err(Error::invalid(format!(
                    "two channels are called {name:?}; give one another name"
                )));
            }
        }
        Ok(Self(Arc::new(by_name)))
    }

    /// Returns the channel with this name. The error lists the existing names.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Channel>> {
        self.0.get(name).map(|entry| &entry.channel).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            Error::not_found(match names.as_slice() {
                [] => format!("there is no channel {name:?}; no channel is set up"),
                names => format!("there is no channel {name:?}; set up: {}", names.join(", ")),
            })
        })
    }

    /// Iterates over all names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Iterates over all channels.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Channel>> {
        self.0.values().map(|entry| &entry.channel)
    }

    /// Returns the health of the channel with this name.
    pub fn health(&self, name: &str) -> Option<ChannelHealth> {
        let entry = self.0.get(name)?;
        Some(entry.health.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Returns the names of the channels that take no deliveries now.
    pub fn holding(&self) -> Vec<String> {
        let holding =
            self.0.iter().filter(|(_, entry)| entry.channel.status().is_some_and(|status| status.is_holding));
        holding.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the status of the channel with this name.
    pub fn status(&self, name: &str) -> Option<ChannelStatus> {
        let own = self.0.get(name)?.channel.status();
        Some(status::merged(self.health(name)?, own))
    }

    /// Records the health of the channel with this name.
    pub fn note_health(&self, name: &str, health: ChannelHealth) {
        if let Some(entry) = self.0.get(name) {
            *entry.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
        }
    }
}

/// Sends messages of a running turn: through the outbox, to a configured channel.
#[async_trait]
pub trait Courier: Send + Sync {
    /// Returns the names of the channels.
    fn channels(&self) -> Vec<String>;

    /// Sends a message of this turn. When it returns `Ok`, the message is stored and will be delivered even after a
    /// crash. Fails if there is no such channel, or no such recipient there.
    async fn send(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<()>;

    /// Returns whether something for this recipient has not arrived yet.
    async fn is_waiting(&self, _channel: &str, _recipient: &str) -> Result<bool> {
        Ok(false)
    }

    /// Makes everything that waits for this channel due now, because its platform can be reached again.
    async fn recovered(&self, _channel: &str) -> Result<()> {
        Ok(())
    }

    /// Records that a delivery reported as arrived has not arrived after all, according to its platform.
    async fn returned(&self, _delivery: i64, _error: &str) -> Result<()> {
        Ok(())
    }
}

/// A stored delivery.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// Its number, the same on every attempt.
    pub id: i64,
    /// The session that it comes from.
    pub session: SessionId,
    /// The turn that it comes from.
    pub turn: TurnId,
    /// The content and its destination.
    pub content: NewDelivery,
    /// How many attempts were made before.
    pub attempts: u32,
}

impl Delivery {
    /// A delivery that has not been attempted yet.
    pub fn new(id: i64, session: SessionId, turn: TurnId, content: NewDelivery) -> Self {
        Self { id, session, turn, content, attempts: 0 }
    }

    /// Sets how many attempts were made before.
    #[must_use]
    pub fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }
}

/// A delivery that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct DeliveryError {
    /// What happened.
    pub message: String,
    /// Whether a retry can help.
    pub retryable: bool,
    /// How long to wait before a retry, if the other side has said so.
    pub retry_after: Option<Duration>,
    /// Whether it was not attempted at all, because the channel holds it back.
    pub is_held: bool,
}

impl DeliveryError {
    /// A failure that may pass.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: true, retry_after: None, is_held: false }
    }

    /// The channel holds it back without an attempt.
    pub fn held(message: impl Into<String>) -> Self {
        Self { is_held: true, ..Self::passing(message) }
    }

    /// A failure that will not pass.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, retry_after: None, is_held: false }
    }

    /// Sets the exact pause before the retry.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self { retry_after: Some(pause), ..self }
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum DeliveryOutcome {
    /// It arrived.
    Delivered,
    /// It will be retried.
    Retry {
        /// When it will be retried.
        at: Timestamp,
        /// What went wrong.
        error: String,
    },
    /// It was not attempted. The channel holds it back, which does not count as an attempt.
    Held {
        /// When it is handed over again at the latest.
        at: Timestamp,
        /// What the channel waits for.
        error: String,
    },
    /// It was given up.
    Failed {
        /// Why, in words for the owner.
        error: String,
    },
    /// It was reported as arrived, but was not. Says nothing about a delivery that is still waiting or was given up.
    Returned {
        /// Why, in words for the owner.
        error: String,
    },
}

/// The state of a delivery that has not arrived.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeliveryRecord {
    /// The delivery.
    pub delivery: Delivery,
    /// Its state.
    pub state: DeliveryState,
    /// The last error.
    pub error: Option<String>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it is tried next, while it waits.
    pub due_at: Option<Timestamp>,
}

impl DeliveryRecord {
    /// A delivery that waits for its first attempt or was given up.
    pub fn new(delivery: Delivery, state: DeliveryState, created_at: Timestamp) -> Self {
        Self { delivery, state, error: None, created_at, due_at: None }
    }
}

words! {
    from_word:
    /// The state of a delivery that has not arrived.
    pub enum DeliveryState {
        /// It will be tried, or tried again.
        Waiting = "waiting",
        /// It was given up.
        Failed = "failed",
    }
}

/// A page of deliveries that have not arrived, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeliveryPage {
    /// At most as many as were requested.
    pub deliveries: Vec<DeliveryRecord>,
    /// How many there are in all.
    pub count: u64,
}

/// Knows what waits for a channel, and brings it forward.
#[async_trait]
pub trait WaitingDeliveries: Send + Sync {
    /// Makes everything that waits for this channel due now. Returns how many deliveries that brings forward.
    async fn make_due(&self, channel: &str) -> Result<usize>;

    /// Returns whether a delivery of this channel to this recipient is waiting.
    async fn has_waiting(&self, channel: &str, recipient: &str) -> Result<bool>;
}

/// Stores deliveries.
#[async_trait]
pub trait Outbox: WaitingDeliveries {
    /// Stores a delivery that a turn makes while it runs; it is due at once. Returns its number.
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64>;

    /// Returns due deliveries of all channels but these, oldest first, but for each recipient only the first. A delivery
    /// behind another one to the same recipient is not due before that. Of the excluded channels, those are returned that have
    /// expired: they are to be given up, whether the channel takes deliveries or not.
    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> Result<Vec<Delivery>>;

    /// Returns when the next one of all channels but these is due, if any is waiting.
    async fn next_due(&self, but: &[String]) -> Result<Option<Timestamp>>;

    /// Records the outcome of an attempt.
    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()>;

    /// Returns deliveries in this state that have not arrived, newest first.
    async fn undelivered(&self, state: DeliveryState, limit: usize) -> Result<DeliveryPage>;

    /// Makes a waiting or failed delivery due now, with a new expiry. `false` if there is none; what has arrived is not
    /// sent again.
    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> Result<bool>;

    /// Removes a waiting or failed delivery. `false` if there is none.
    async fn remove_delivery(&self, id: i64) -> Result<bool>;
}
