//! Telemetry: what the program did, how long it took and how it came out, one record an event.
//!
//! Whoever does something worth counting hands a [`TelemetryEvent`] to the [`Telemetry`] of the event bus. That never
//! waits: the event is counted for `/metrics` and put into a bounded queue, from which the facade stores it in batches
//! ([`TelemetryLog`]). What finds the queue full is dropped and counted. Storing, redacting and exporting are left to
//! others; here are the words, the queue and the arithmetic.

use std::ops::RangeInclusive;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::ledger::{LedgerEntry, WorkKind};

mod counters;
mod queue;
mod summary;

pub use counters::{BOUNDS, Counters, ModelSum, Series};
pub use queue::Telemetry;
pub use summary::{DaySummary, NamedSummary, Summary, TelemetrySum, TelemetrySummary, bucket_of};

/// The most characters of a detail.
const LONGEST_DETAIL: usize = 500;

/// The most characters of a name.
const LONGEST_NAME: usize = 120;

/// How many events a storage keeps; the oldest ones go. Their sums stay as long as the days are kept.
pub const MOST_EVENTS: u32 = 500_000;

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TelemetryKind {
    /// A tool ran, or was refused.
    ToolCall,
    /// A model was asked.
    ModelCall,
    /// A turn ended.
    Turn,
    /// A hook or a rule refused something.
    Denial,
    /// A person was asked, and how that ended.
    Approval,
    /// An attempt to deliver something.
    Delivery,
    /// A run of a timed job ended.
    Job,
    /// A channel changed its state.
    Channel,
    /// Something was logged as an error.
    Error,
}

impl TelemetryKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ToolCall,
        Self::ModelCall,
        Self::Turn,
        Self::Denial,
        Self::Approval,
        Self::Delivery,
        Self::Job,
        Self::Channel,
        Self::Error,
    ];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCall => "tool_call",
            Self::ModelCall => "model_call",
            Self::Turn => "turn",
            Self::Denial => "denial",
            Self::Approval => "approval",
            Self::Delivery => "delivery",
            Self::Job => "job",
            Self::Channel => "channel",
            Self::Error => "error",
        }
    }

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// How it came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TelemetryStatus {
    /// It went well.
    Ok,
    /// It failed.
    Error,
    /// A rule or a person said no.
    Denied,
    /// Somebody stopped it, or it ended by itself before it was done.
    Stopped,
    /// It was left out.
    Skipped,
}

impl TelemetryStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Error, Self::Denied, Self::Stopped, Self::Skipped];

    /// Its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
        }
    }

    /// The status of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TelemetryEvent {
    /// What kind of thing happened.
    #[serde(rename = "type")]
    pub kind: TelemetryKind,
    /// What it happened to: a tool, a model, a channel, a job.
    pub name: String,
    /// How it came out.
    pub status: TelemetryStatus,
    /// How long it took, in seconds, where that means something.
    pub duration: Option<f64>,
    /// When it ended.
    #[serde(serialize_with = "crate::time::serialize")]
    pub timestamp: Timestamp,
    /// The conversation, where it belongs to one.
    pub session_id: Option<SessionId>,
    /// The turn, where it belongs to one.
    pub turn: Option<TurnId>,
    /// What there is to know besides, in words: a reason, an error. Never what a person or a model said.
    pub detail: String,
    /// What a model call took.
    #[serde(flatten)]
    pub call: Option<ModelFacts>,
}

/// What a model call took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The provider.
    pub provider: String,
    /// The model that it is booked under.
    pub model: String,
    /// What it was for.
    pub kind: WorkKind,
    /// Tokens sent, those that the provider had cached included.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tokens sent that the provider had cached.
    pub cached_tokens: u64,
    /// The cost in USD.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
}

impl ModelFacts {
    /// What a call that nobody knows anything about took.
    pub fn new(provider: impl Into<String>, model: impl Into<String>, kind: WorkKind) -> Self {
        let (provider, model) = (provider.into(), model.into());
        Self { provider, model, kind, input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0.0 }
    }

    /// What the ledger has of a call.
    pub fn of(entry: &LedgerEntry) -> Self {
        Self {
            input_tokens: entry.usage.input_tokens,
            output_tokens: entry.usage.output_tokens,
            cached_tokens: entry.usage.cached_tokens,
            cost_usd: entry.usage.cost_usd,
            ..Self::new(&entry.provider, &entry.model, entry.kind)
        }
    }
}

impl TelemetryEvent {
    /// An event of which nothing else is known.
    pub fn new(kind: TelemetryKind, name: &str, status: TelemetryStatus, timestamp: Timestamp) -> Self {
        Self {
            kind,
            name: shortened(name, LONGEST_NAME),
            status,
            duration: None,
            timestamp,
            session_id: None,
            turn: None,
            detail: String::new(),
            call: None,
        }
    }

    /// It took so long.
    #[must_use]
    pub fn took(self, duration: std::time::Duration) -> Self {
        Self { duration: Some(duration.as_secs_f64()), ..self }
    }

    /// In this conversation and turn.
    #[must_use]
    pub fn within(self, session: Option<&SessionId>, turn: Option<&TurnId>) -> Self {
        Self { session_id: session.cloned(), turn: turn.cloned(), ..self }
    }

    /// With this to know besides, as much of it as an event takes.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> Self {
        Self { detail: shortened(detail, LONGEST_DETAIL), ..self }
    }

    /// With what a model call took.
    #[must_use]
    pub fn with_call(self, call: ModelFacts) -> Self {
        Self { call: Some(call), ..self }
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// An event that is stored, with its number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredEvent {
    /// Its number, which grows; as text, as all ids.
    #[serde(serialize_with = "as_text")]
    pub id: i64,
    /// The event.
    #[serde(flatten)]
    pub event: TelemetryEvent,
}

fn as_text<S: serde::Serializer>(id: &i64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// Which events are wanted; newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetryQuery {
    /// How many at most.
    pub limit: usize,
    /// Only of this kind.
    pub kind: Option<TelemetryKind>,
    /// Only from this moment on.
    pub since: Option<Timestamp>,
    /// Only those with a smaller number: the next page.
    pub before: Option<i64>,
}

/// Where events are kept.
#[async_trait]
pub trait TelemetryLog: Send + Sync {
    /// Keeps events, in this order, and adds them to the sums of their days, in one transaction.
    async fn keep_events(&self, events: Vec<TelemetryEvent>) -> Result<()>;

    /// The events of a query, newest first.
    async fn events(&self, query: TelemetryQuery) -> Result<Vec<StoredEvent>>;

    /// The sums of these days, added up over the days.
    async fn event_sums(&self, days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>>;
}

/// Keeps nothing: for embedders and tests that do not look.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTelemetry;

#[async_trait]
impl TelemetryLog for NoTelemetry {
    async fn keep_events(&self, _events: Vec<TelemetryEvent>) -> Result<()> {
        Ok(())
    }

    async fn events(&self, _query: TelemetryQuery) -> Result<Vec<StoredEvent>> {
        Ok(Vec::new())
    }

    async fn event_sums(&self, _days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>> {
        Ok(Vec::new())
    }
}
