//! Channels: ways to people and back, and the durable outbox in front of the way out.
//!
//! What people send, a channel hands to the [`Assistant`] while it [runs](Channel::run); whoever owns the service owns the
//! task. A reply that goes to a channel is first a row of the outbox, written in the transaction that ends its turn; then
//! it is delivered, retried, expired or reported as failed. The channel never sees a reply that is not stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::assistant::Assistant;
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::message::Attachment;
use crate::session::TurnRecord;
use crate::shutdown::Shutdown;
use crate::surface::Surface;

mod callback;
mod records;
mod status;

pub use callback::{Called, PlatformCalls};
pub use records::{ChannelRecords, DELIVERY_RECORDS};
pub use status::{ChannelHealth, ChannelState, ChannelStatus};

/// A way to people and back.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, such as `webchat` or `telegram`.
    fn name(&self) -> &str;

    /// Whether this can be a recipient here; what is wrong with it otherwise. Asked before anything is done for a delivery
    /// that could only be given up.
    fn check_recipient(&self, _recipient: Option<&str>) -> Result<()> {
        Ok(())
    }

    /// Receives, and hands what came to the assistant, until the program stops. One that ends in an error is started
    /// again after a pause, so a connection that broke may simply be an error; one that ends without has nothing more to
    /// do. A channel that only sends, or receives by another door, waits for the end.
    async fn run(&self, _assistant: Arc<dyn Assistant>, mut shutdown: Shutdown) -> Result<()> {
        shutdown.requested().await;
        Ok(())
    }

    /// Delivers. The same delivery may be handed over twice after a crash; its `id` tells.
    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError>;

    /// What it says of itself while it runs. `None`: nothing but that it runs.
    fn status(&self) -> Option<ChannelStatus> {
        None
    }

    /// Who watches a turn of this channel that goes on after a restart, where somebody there can.
    fn watcher(&self, _record: &TurnRecord) -> Option<Arc<dyn Surface>> {
        None
    }

    /// What takes the calls that its platform makes over HTTP, where it makes any.
    fn calls(&self) -> Option<Arc<dyn PlatformCalls>> {
        None
    }
}

/// The channels that are set up, by name. Fixed once the program is up. Cheap to clone; clones share it.
#[derive(Clone, Default)]
pub struct Channels(Arc<BTreeMap<String, Entry>>);

struct Entry {
    channel: Arc<dyn Channel>,
    health: Mutex<ChannelHealth>,
}

impl Channels {
    /// Collects channels. Errs when two have the same name.
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

    /// The channel of this name. Errs with the names that there are when none has it.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Channel>> {
        self.0.get(name).map(|entry| &entry.channel).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            Error::not_found(match names.as_slice() {
                [] => format!("there is no channel {name:?}, and no other either"),
                names => format!("there is no channel {name:?}; set up: {}", names.join(", ")),
            })
        })
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Channel>> {
        self.0.values().map(|entry| &entry.channel)
    }

    /// How the channel of this name is doing.
    pub fn health(&self, name: &str) -> Option<ChannelHealth> {
        let entry = self.0.get(name)?;
        Some(entry.health.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// What there is to know about the channel of this name.
    pub fn status(&self, name: &str) -> Option<ChannelStatus> {
        let own = self.0.get(name)?.channel.status();
        Some(status::merged(self.health(name)?, own))
    }

    /// Notes how the channel of this name is doing.
    pub fn note_health(&self, name: &str, health: ChannelHealth) {
        if let Some(entry) = self.0.get(name) {
            *entry.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
        }
    }
}

/// The way out for what a turn sends while it runs: through the outbox, to a channel that is set up.
#[async_trait]
pub trait Courier: Send + Sync {
    /// The names of the channels.
    fn channels(&self) -> Vec<String>;

    /// Takes a message of this turn on its way. When it returns `Ok`, the message is stored, and is delivered even after a
    /// crash. Errs when there is no such channel, or no such recipient there.
    async fn send(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<()>;

    /// Whether something is on its way to this recipient that has not arrived.
    async fn is_waiting(&self, _channel: &str, _recipient: &str) -> Result<bool> {
        Ok(false)
    }

    /// Takes back that a delivery has arrived: its platform said so, and says now that it has not.
    async fn returned(&self, _delivery: i64, _error: &str) -> Result<()> {
        Ok(())
    }
}

/// A delivery that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewDelivery {
    /// The channel.
    pub channel: String,
    /// Who gets it there; the channel's own default when absent.
    pub recipient: Option<String>,
    /// The Markdown.
    pub text: String,
    /// Files that go with it.
    pub attachments: Vec<Attachment>,
    /// Where the content came from that the text was made of, if any of it came from outside: the owner must not take a
    /// stranger's words for those of the assistant.
    pub outside: Option<String>,
    /// Whether it is the reply that ends its turn, and no message that the turn sends besides.
    pub is_reply: bool,
    /// When it is too old to be of use.
    pub expires_at: Timestamp,
}

impl NewDelivery {
    /// A text for the channel's own default recipient.
    pub fn new(channel: impl Into<String>, text: impl Into<String>, expires_at: Timestamp) -> Self {
        let (channel, text) = (channel.into(), text.into());
        let (attachments, outside) = (Vec::new(), None);
        Self { channel, recipient: None, text, attachments, outside, is_reply: false, expires_at }
    }

    /// For this recipient.
    #[must_use]
    pub fn with_recipient(self, recipient: Option<String>) -> Self {
        Self { recipient, ..self }
    }

    /// With these files.
    #[must_use]
    pub fn with_attachments(self, attachments: Vec<Attachment>) -> Self {
        Self { attachments, ..self }
    }

    /// Made of content that came from there.
    #[must_use]
    pub fn with_outside(self, outside: Option<String>) -> Self {
        Self { outside, ..self }
    }

    /// As the reply of its turn, if it is.
    #[must_use]
    pub fn as_reply(self, is_reply: bool) -> Self {
        Self { is_reply, ..self }
    }

    /// The text for a channel that knows nothing but text: where it was made of content from outside, a line above it says so.
    pub fn labelled_text(&self) -> Cow<'_, str> {
        match &self.outside {
            Some(outside) => format!("_{}_\n\n{}", made_of(outside), self.text).into(),
            None => self.text.as_str().into(),
        }
    }
}

/// What a person is told of a text that was made of content from outside.
pub fn made_of(outside: &str) -> String {
    format!("Made from content that came from outside ({outside}). Check it before you rely on it.")
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
    /// What goes where.
    pub content: NewDelivery,
    /// How often it was tried before.
    pub attempts: u32,
}

impl Delivery {
    /// One that was not tried yet.
    pub fn new(id: i64, session: SessionId, turn: TurnId, content: NewDelivery) -> Self {
        Self { id, session, turn, content, attempts: 0 }
    }

    /// One that was tried so often before.
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
    /// Whether trying again can help.
    pub retryable: bool,
    /// How long to wait before that, where the other side has said it.
    pub retry_after: Option<Duration>,
}

impl DeliveryError {
    /// One that may go well when it is tried again.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: true, retry_after: None }
    }

    /// One that never will go well.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, retry_after: None }
    }

    /// Tried again after exactly this time.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self { retry_after: Some(pause), ..self }
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum DeliveryOutcome {
    /// It arrived.
    Delivered,
    /// It is tried again.
    Retry {
        /// When it is tried again.
        at: Timestamp,
        /// What went wrong.
        error: String,
    },
    /// It is given up.
    Failed {
        /// Why, in words for the owner.
        error: String,
    },
    /// It was said to have arrived, and has not. Says nothing of one that still waits or was given up.
    Returned {
        /// Why, in words for the owner.
        error: String,
    },
}

/// What is known of a delivery that has not arrived.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeliveryRecord {
    /// The delivery.
    pub delivery: Delivery,
    /// Where it stands.
    pub state: DeliveryState,
    /// What went wrong last.
    pub error: Option<String>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it is tried next, while it waits.
    pub due_at: Option<Timestamp>,
}

impl DeliveryRecord {
    /// One that waits for its first attempt, or was given up.
    pub fn new(delivery: Delivery, state: DeliveryState, created_at: Timestamp) -> Self {
        Self { delivery, state, error: None, created_at, due_at: None }
    }
}

/// Where a delivery stands that has not arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is tried, or tried again.
    Waiting,
    /// It was given up.
    Failed,
}

impl DeliveryState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }

    /// The state of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Waiting, Self::Failed].into_iter().find(|state| state.as_str() == word)
    }
}

/// Deliveries that have not arrived, the newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeliveryPage {
    /// As many as were asked for.
    pub deliveries: Vec<DeliveryRecord>,
    /// How many there are.
    pub count: u64,
}

/// The storage of deliveries.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Stores a delivery that a turn makes while it runs; it is due at once. Returns its number.
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64>;

    /// Deliveries whose time has come, oldest first; of those to one recipient only the first. One that comes behind another of
    /// the same recipient there is not due before that.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Delivery>>;

    /// When the next one is due, if any waits.
    async fn next_due(&self) -> Result<Option<Timestamp>>;

    /// Records an attempt.
    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()>;

    /// Deliveries in this state that have not arrived, the newest first.
    async fn undelivered(&self, state: DeliveryState, limit: usize) -> Result<DeliveryPage>;

    /// Makes one that waits or was given up due now, and lets it live until then. `false` when there is none: what has
    /// arrived is not sent again.
    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> Result<bool>;

    /// Removes one that waits or was given up. `false` when there is none.
    async fn remove_delivery(&self, id: i64) -> Result<bool>;
}
