//! What model calls cost: one ledger for all calls, and a ceiling that is enforced.
//!
//! A call with a price reserves money before it is made and more while its answer arrives, and is settled with its
//! actual cost; so concurrent calls cannot exceed the ceiling together. A reservation includes an estimate of the cost
//! so far, which is booked if a crash cuts the call off. Days are UTC days.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::token_usage::Usage;
use crate::words::words;

/// More web searches than any one answer takes; a service's count above it is a mistake.
const MAX_SEARCHES: u64 = 1_000;

/// The price of a model, in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Price {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Input tokens that the provider had cached; the same as `input` if unknown.
    pub cached_input: Option<f64>,
    /// Input tokens that the provider wrote to its cache; the same as `input` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// A web search that the provider runs, in USD each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<f64>,
    /// The prices that apply instead to the whole of a long request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrice>,
}

/// The prices of long requests, in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongPrice {
    /// Applies to requests with more tokens than this.
    pub above: u64,
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Input tokens that the provider had cached.
    pub cached_input: Option<f64>,
    /// Input tokens that the provider wrote to its cache.
    pub cache_write: Option<f64>,
}

impl Price {
    /// The price of models on this machine: nothing.
    pub const FREE: Self = Self::new(0.0, 0.0);

    /// A price without caching or tiers: input and output tokens.
    pub const fn new(input: f64, output: f64) -> Self {
        Self { input, output, cached_input: None, cache_write: None, search: None, long: None }
    }

    /// Sets the price of cached input tokens.
    #[must_use]
    pub const fn with_cached_input(self, cached_input: Option<f64>) -> Self {
        Self { cached_input, ..self }
    }

    /// Sets the price of input tokens written to the provider's cache.
    #[must_use]
    pub const fn with_cache_write(self, cache_write: Option<f64>) -> Self {
        Self { cache_write, ..self }
    }

    /// Sets the price of a web search by the provider.
    #[must_use]
    pub const fn with_search(self, search: Option<f64>) -> Self {
        Self { search, ..self }
    }

    /// Sets the prices of long requests.
    #[must_use]
    pub const fn with_long(self, long: Option<LongPrice>) -> Self {
        Self { long, ..self }
    }

    /// Returns this price multiplied, as for another service tier. Searches cost the same at every tier.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let times = |price: Option<f64>| price.map(|price| price * factor);
        let long = self.long.map(|long| LongPrice {
            above: long.above,
            input: long.input * factor,
            output: long.output * factor,
            cached_input: times(long.cached_input),
            cache_write: times(long.cache_write),
        });
        Self {
            input: self.input * factor,
            output: self.output * factor,
            cached_input: times(self.cached_input),
            cache_write: times(self.cache_write),
            search: self.search,
            long,
        }
    }

    /// Returns whether everything is free.
    pub fn is_free(&self) -> bool {
        let is_zero = |usd: f64| usd <= 0.0;
        is_zero(self.input)
            && is_zero(self.output)
            && self.long.is_none_or(|long| is_zero(long.input) && is_zero(long.output))
    }

    /// Returns the cost of one request with this usage, in USD.
    pub fn of(&self, usage: &Usage) -> f64 {
        let price = self.for_request(usage.input_tokens);
        // Token counts are far below 2^52, so they are exact as f64.
        let (input, output) = (usage.input_tokens as f64, usage.output_tokens as f64);
        let read = cached(usage);
        let written = usage.cache_write_tokens.min(usage.input_tokens - read) as f64;
        let surcharge = written * (price.cache_write.unwrap_or(price.input) - price.input) / 1e6;
        let searches = usage.web_searches.min(MAX_SEARCHES) as f64 * self.search.unwrap_or(0.0);
        (input * price.input + output * price.output) / 1e6 + surcharge + searches - self.saved(usage)
    }

    /// Returns how much more this usage would have cost without the cache, in USD.
    pub fn saved(&self, usage: &Usage) -> f64 {
        let price = self.for_request(usage.input_tokens);
        cached(usage) as f64 * (price.input - price.cached_input.unwrap_or(price.input)) / 1e6
    }

    /// The prices for a request with this many input tokens.
    fn for_request(&self, input_tokens: u64) -> Self {
        match self.long.filter(|long| input_tokens > long.above) {
            None => *self,
            Some(LongPrice { input, output, cached_input, cache_write, .. }) => {
                Self { input, output, cached_input, cache_write, search: self.search, long: None }
            }
        }
    }
}

fn cached(usage: &Usage) -> u64 {
    usage.cached_tokens.min(usage.input_tokens)
}

/// Serialises an amount as stored, rounded to a billionth of a dollar: sums of fractions have meaningless trailing
/// digits.
pub fn serialize_usd<S: Serializer>(amount: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64((amount * 1e9).round() / 1e9)
}

words! {
    /// The purpose of a call.
    #[derive(Default)]
    pub enum WorkKind {
        /// Answering a message.
        #[default]
        Turn = "turn",
        /// Summarising older messages.
        Compaction = "compaction",
        /// A specialist's part of a turn.
        Delegation = "delegation",
        /// Turning text into vectors.
        Embedding = "embedding",
        /// Transcribing speech.
        Transcription = "transcription",
        /// A scheduled job.
        Scheduled = "scheduled",
        /// Testing the abilities of a model.
        Test = "test",
        /// Work that no person waits for; the first to stop when money runs short.
        Background = "background",
        /// Calls that a crash cut off, at the last estimate of their cost. Only the ledger itself writes these.
        Interrupted = "interrupted",
    }
}

/// The record of one call.
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
    /// Its purpose.
    pub kind: WorkKind,
    /// Tokens and cost.
    pub usage: Usage,
    /// The money saved by the cache, in USD; 0 if the price is unknown.
    pub saved_usd: f64,
    /// Whether it succeeded; a failed call may have cost something too.
    pub is_ok: bool,
}

/// A day's money.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct DaySpend {
    /// Settled, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub spent_usd: f64,
    /// Reserved for running calls, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub reserved_usd: f64,
    /// The highest ceiling, in USD, under which the last request for money was refused; 0 if none was.
    #[serde(skip)]
    pub refused_usd: f64,
}

/// The usage of one day, model and kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UsageRow {
    /// The day, in UTC.
    pub day: Date,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The purpose of the calls.
    pub kind: WorkKind,
    /// How many there were.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Total tokens and cost.
    #[serde(flatten)]
    pub usage: Usage,
    /// The money saved by the cache, in USD.
    #[serde(serialize_with = "serialize_usd")]
    pub saved_usd: f64,
}

/// The money that a call asks for: as much as is available, or nothing if that is too little.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The amount wanted, in USD.
    pub most_usd: f64,
    /// The least that is useful, in USD.
    pub least_usd: f64,
    /// The day's ceiling, in USD, which spent, reserved and claimed money together must not exceed.
    pub ceiling_usd: f64,
    /// The cost that is booked if a crash cuts the call off now.
    pub estimate_usd: f64,
}

impl Claim {
    /// A claim of exactly this amount, all of which counts as spent after a crash.
    pub const fn exactly(amount_usd: f64, ceiling_usd: f64) -> Self {
        Self { most_usd: amount_usd, least_usd: amount_usd, ceiling_usd, estimate_usd: amount_usd }
    }

    /// The claim of a call whose cost nothing limits: it takes no money, and a crash books the estimate.
    pub const fn unlimited(estimate_usd: f64) -> Self {
        Self { most_usd: 0.0, least_usd: 0.0, ceiling_usd: f64::INFINITY, estimate_usd }
    }

    /// Returns whether it asks for money.
    pub fn takes_money(&self) -> bool {
        self.most_usd > 0.0
    }

    /// Returns how much of it is granted when this much of the day is spent and reserved.
    pub fn granted(&self, taken_usd: f64) -> Option<f64> {
        let left = self.ceiling_usd - taken_usd;
        (left >= self.least_usd).then(|| self.most_usd.min(left))
    }

    /// Returns whether all amounts are valid.
    pub fn is_sound(&self) -> bool {
        let is_amount = |usd: f64| usd.is_finite() && usd >= 0.0;
        [self.most_usd, self.least_usd, self.estimate_usd].into_iter().all(is_amount)
            && self.least_usd <= self.most_usd
            && !self.ceiling_usd.is_nan()
    }
}

/// Money reserved for a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reserved {
    /// The reservation's id.
    pub id: i64,
    /// How much was granted now, in USD.
    pub amount_usd: f64,
    /// How much of the day is left afterwards, in USD.
    pub left_usd: f64,
}

/// Stores spending.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Reserves money for a call to this model. `None` if the day has less than the least useful amount left; an
    /// `invalid` error if the claim is not [sound](Claim::is_sound).
    async fn reserve(&self, provider: &str, model: &str, claim: Claim) -> Result<Option<Reserved>>;

    /// Reserves more for a running call, from the day of its reservation. `None` if that day has less than the least
    /// useful amount left, or the reservation is gone.
    async fn grow(&self, reservation: i64, claim: Claim) -> Result<Option<Reserved>>;

    /// Records the end of a call that had an [unlimited claim](Claim::unlimited). Does not wait for the disk.
    async fn close(&self, reservation: i64, entry: LedgerEntry) -> Result<()> {
        self.settle(Some(reservation), entry).await
    }

    /// Records the cost of a running call so far, in case of a crash. Does not wait for the disk.
    async fn note(&self, reservation: i64, estimate_usd: f64) -> Result<()>;

    /// Records a call and returns its reservation, or books a call that has none. An invalid cost counts as zero.
    /// Without a reservation the entry is written with the next commit and no caller waits for the disk. A call with a
    /// reservation counts towards the day of the reservation, so that a call across midnight cannot exceed the ceiling
    /// of either day; one without counts towards the day on which it ended.
    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> Result<()>;

    /// Returns today's money.
    async fn today(&self) -> Result<DaySpend>;

    /// Returns the last `days` days including today, newest first; the order within a day is unspecified.
    async fn report(&self, days: u32) -> Result<Vec<UsageRow>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price::new(2.0, 10.0).with_cached_input(Some(0.5));
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cached_tokens: 400_000,
            ..Usage::default()
        };
        assert!((price.of(&usage) - (1.2 + 0.2 + 1.0)).abs() < 1e-9);
        assert!((price.saved(&usage) - 0.6).abs() < 1e-9);
        let plain = Price { cached_input: None, ..price };
        assert!((plain.of(&usage) - 3.0).abs() < 1e-9);
        assert!(plain.saved(&usage).abs() < 1e-9);
        // Ten per cent of the input was written to the cache, at a quarter more.
        let written = Usage { cache_write_tokens: 100_000, ..usage };
        let writing = Price { cache_write: Some(2.5), ..price };
        assert!((writing.of(&written) - (1.2 + 0.2 + 1.0 + 0.05)).abs() < 1e-9);
        let long =
            LongPrice { above: 500_000, input: 4.0, output: 20.0, cached_input: None, cache_write: None };
        let tiered = Price { long: Some(long), ..price };
        assert!((tiered.of(&usage) - (4.0 + 2.0)).abs() < 1e-9);
        let short = Usage { input_tokens: 500_000, ..Usage::default() };
        assert!((tiered.of(&short) - 1.0).abs() < 1e-9);
    }
}
