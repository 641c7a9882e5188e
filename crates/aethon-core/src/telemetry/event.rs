//! What is counted: an event with its kind, its outcome and, for a model call, its figures.

use jiff::Timestamp;
use serde::Serialize;

use crate::ids::{SessionId, TurnId};
use crate::ledger::{LedgerEntry, WorkKind};

/// The most characters of a detail.
const MAX_DETAIL: usize = 500;

/// The most characters of a name.
const MAX_NAME: usize = 120;

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TelemetryKind {
    /// A tool ran or was refused.
    ToolCall,
    /// A model was asked.
    ModelCall,
    /// A turn ended.
    Turn,
    /// A hook or a rule refused something.
    Denial,
    /// A person was asked, with the outcome.
    Approval,
    /// An attempt at a delivery.
    Delivery,
    /// A run of a scheduled job ended.
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

    /// Returns its stable word.
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

    /// Returns the kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TelemetryStatus {
    /// It succeeded.
    Ok,
    /// It failed.
    Error,
    /// A rule or a person said no.
    Denied,
    /// It was stopped, or ended by itself before it was done.
    Stopped,
    /// It was skipped.
    Skipped,
}

impl TelemetryStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Error, Self::Denied, Self::Stopped, Self::Skipped];

    /// Returns its stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
        }
    }

    /// Returns the status with this word.
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
    /// Details in words: a reason, an error. Never what a person or a model said.
    pub detail: String,
    /// The facts of a model call.
    #[serde(flatten)]
    pub call: Option<ModelFacts>,
}

/// The facts of a model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelFacts {
    /// The provider.
    pub provider: String,
    /// The model that it is booked under.
    pub model: String,
    /// What it was for.
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
            name: shortened(name, MAX_NAME),
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

    /// Sets the detail, cut to what an event may contain.
    #[must_use]
    pub fn with_detail(self, detail: &str) -> Self {
        Self { detail: shortened(detail, MAX_DETAIL), ..self }
    }

    /// Sets the facts of a model call.
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
