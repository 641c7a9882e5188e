//! What model calls cost: one ledger for every call, and a ceiling that holds.
//!
//! A call that has a price reserves what it may cost at most before it is made and is settled with what it did cost; so
//! calls that run side by side cannot pass the ceiling together, and a crash in between counts the reservation as spent.
//! Days are days in UTC.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::model::Usage;

/// What a model costs, in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens sent that the provider had cached; as `input` where it is not known.
    pub cached_input: Option<f64>,
}

impl Price {
    /// What this much costs, in USD.
    pub fn of(&self, usage: &Usage) -> f64 {
        // Token counts are far below 2^52, so they are exact as f64.
        let (input, output) = (usage.input_tokens as f64, usage.output_tokens as f64);
        (input * self.input + output * self.output) / 1e6 - self.saved(usage)
    }

    /// What the cached tokens of this would have cost more, in USD.
    pub fn saved(&self, usage: &Usage) -> f64 {
        let cached = usage.cached_tokens.min(usage.input_tokens) as f64;
        cached * (self.input - self.cached_input.unwrap_or(self.input)) / 1e6
    }
}

/// Writes an amount of money as it is kept, in whole billionths of a dollar: sums of fractions have a tail that means
/// nothing.
pub fn serialize_usd<S: Serializer>(amount: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64((amount * 1e9).round() / 1e9)
}

/// What a call was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Answering somebody.
    Turn,
    /// Summarising older messages.
    Compaction,
    /// A specialist's part of a turn.
    Delegation,
    /// Turning text into vectors.
    Embedding,
    /// A job of the schedule.
    Scheduled,
    /// What nobody waits for; the first to stop when money gets short.
    Background,
    /// Calls that a crash cut off, at what was set aside for them. Only the ledger itself writes these.
    Interrupted,
}

impl WorkKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Turn,
        Self::Compaction,
        Self::Delegation,
        Self::Embedding,
        Self::Scheduled,
        Self::Background,
        Self::Interrupted,
    ];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Compaction => "compaction",
            Self::Delegation => "delegation",
            Self::Embedding => "embedding",
            Self::Scheduled => "scheduled",
            Self::Background => "background",
            Self::Interrupted => "interrupted",
        }
    }

    /// The kind that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One call, as it went.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// When it ended.
    pub at: Timestamp,
    /// The session that it was for.
    pub session: Option<SessionId>,
    /// The turn that it was for.
    pub turn: Option<TurnId>,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What it was for.
    pub kind: WorkKind,
    /// Tokens and cost.
    pub usage: Usage,
    /// What the cached tokens would have cost more, in USD, where the price is known; 0 otherwise.
    pub saved_usd: f64,
    /// Whether it succeeded; a failed one may have cost something too.
    pub is_ok: bool,
}

/// A day's money.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DaySpend {
    /// Settled, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub spent_usd: f64,
    /// Set aside for calls that run, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub reserved_usd: f64,
    /// The highest ceiling, in USD, under which the last call that wanted money got none; 0 where none was refused.
    #[serde(skip)]
    pub refused_usd: f64,
}

/// What a day, a model and a kind of work took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageRow {
    /// The day, in UTC.
    pub day: Date,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What the calls were for.
    pub kind: WorkKind,
    /// How many there were.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens and cost together.
    #[serde(flatten)]
    pub usage: Usage,
    /// What the cached tokens would have cost more, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub saved_usd: f64,
}

/// The storage of what was spent.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Sets `amount_usd` aside if today's spent and reserved money and this stay within `ceiling_usd`. `None` otherwise.
    async fn reserve(&self, amount_usd: f64, ceiling_usd: f64) -> Result<Option<i64>>;

    /// Records a call and gives its reservation back. Without a reservation nobody has to wait for the disk: the entry is
    /// written with the next commit. A call with a reservation belongs to the day of that, so that what midnight cuts in
    /// two cannot pass the ceiling of either day; one without belongs to the day on which it ended.
    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> Result<()>;

    /// Today's money.
    async fn today(&self) -> Result<DaySpend>;

    /// The last `days` days, today included, newest first.
    async fn report(&self, days: u32) -> Result<Vec<UsageRow>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price { input: 2.0, output: 10.0, cached_input: Some(0.5) };
        let usage =
            Usage { input_tokens: 1_000_000, output_tokens: 100_000, cached_tokens: 400_000, cost_usd: 0.0 };
        assert!((price.of(&usage) - (1.2 + 0.2 + 1.0)).abs() < 1e-9);
        assert!((price.saved(&usage) - 0.6).abs() < 1e-9);
        let plain = Price { cached_input: None, ..price };
        assert!((plain.of(&usage) - 3.0).abs() < 1e-9);
        assert!(plain.saved(&usage).abs() < 1e-9);
    }
}
