//! An event that is counted, with its kind, its outcome and, for a model call, its figures.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::{SessionId, TurnId};
use crate::ledger::{LedgerEntry, WorkKind};
use crate::words::words;

/// The most characters of a stored detail. It is cut after secrets were removed, not where an event is made.
pub const MAX_DETAIL: usize = 500;

/// The most characters of a stored name.
pub const MAX_NAME: usize = 120;

words! {
    from_word:
    /// What kind of thing happened.
    pub enum TelemetryKind {
        /// A tool ran or was refused.
        ToolCall = "tool_call",
        /// A model call.
        ModelCall = "model_call",
        /// A turn ended.
        Turn = "turn",
        /// A hook or a rule refused something.
        Denial = "denial",
        /// A request for approval, with the outcome.
        Approval = "approval",
        /// An attempt at a delivery.
        Delivery = "delivery",
        /// A run of a scheduled job ended.
        Job = "job",
        /// A channel changed its state.
        Channel = "channel",
        /// Something was logged as an error.
        Error = "error",
    }
}

words! {
    from_word:
    /// The outcome.
    pub enum TelemetryStatus {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Error = "error",
        /// A rule or a person said no.
        Denied = "denied",
        /// It was stopped, or ended by itself before it was done.
        Stopped = "stopped",
        /// It was skipped.
        Skipped = "skipped",
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct TelemetryEvent {
    /// What kind of thing happened.
    #[serde(rename = "type")]
    pub kind: TelemetryKind,
    /// The subject: a tool, a model, a channel, a job.
    pub name: String,
    /// The outcome.
    pub status: TelemetryStatus,
    /// How long it took, in seconds, if that is meaningful.
    pub duration: Option<f64>,
    /// When it ended.
    #[serde(serialize_with = "crate::time::serialize")]
    pub timestamp: Timestamp,
    /// The conversation, if it belongs to one.
    pub session_id: Option<SessionId>,
    /// The turn, if it belongs to one.
    pub turn: Option<TurnId>,
    /// Details in words: a reason, an error. Never the words of a person or a model.
    pub detail: String,
    /// The facts of a model call.
    #[serde(flatten)]
    pub call: Option<ModelFacts>,
}

/// The facts of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The provider.
    pub provider: String,
    /// The model that it is booked under.
    pub model: String,
    /// Its purpose.
    pub kind: WorkKind,
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that the provider had cached.
    pub cached_tokens: u64,
    /// The cost in USD.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
}

impl ModelFacts {
    /// A call of which no figures are known.
    pub fn new(provider: impl Into<String>, model: impl Into<String>, kind: WorkKind) -> Self {
        let (provider, model) = (provider.into(), model.into());
        Self { provider, model, kind, input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0.0 }
    }

    /// The facts that the ledger has about a call.
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
    /// An event without further details.
    pub fn new(kind: TelemetryKind, name: &str, status: TelemetryStatus, timestamp: Timestamp) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            status,
            duration: None,
            timestamp,
            session_id: None,
            turn: None,
            detail: String::new(),
            call: None,
        }
    }

    /// Sets the duration.
    #[must_use]
    pub fn took(self, duration: std::time::Duration) -> Self {
        Self { duration: Some(duration.as_secs_f64()), ..self }
    }

    /// Sets the conversation and the turn.
    #[must_use]
    pub fn within(self, session: Option<&SessionId>, turn: Option<&TurnId>) -> Self {
        Self { session_id: session.cloned(), turn: turn.cloned(), ..self }
    }

    /// Sets the detail, whole.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> Self {
        Self { detail: detail.to_owned(), ..self }
    }

    /// Sets the facts of a model call.
    #[must_use]
    pub fn with_call(self, call: ModelFacts) -> Self {
        Self { call: Some(call), ..self }
    }
}
