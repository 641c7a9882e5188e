//! Restrictions learnt from refusals of a service: parts of requests that it does not accept, and those that it requires.
//!
//! No table can know every server that speaks someone else's dialect. So a request is written by the known rules. If a
//! service refuses a part of it by name, that part is left out from then on and the request is sent again. Each
//! restriction is learnt once and kept until the program ends.

use std::sync::atomic::{AtomicU32, Ordering};

/// One thing that was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LearnedRestriction {
    /// It does not accept `temperature`.
    NoTemperature,
    /// It does not accept `top_p`.
    NoTopP,
    /// It does not know `max_tokens`.
    NoMaxTokens,
    /// It does not know `max_completion_tokens`.
    NoMaxCompletionTokens,
    /// It does not accept an effort.
    NoEffort,
    /// It does not summarise its thoughts, like OpenAI for unverified accounts.
    NoSummary,
    /// It does not accept a cache key.
    NoCacheKey,
    /// It does not accept `stream_options`.
    NoStreamOptions,
    /// It requires the responses API for this model.
    NeedsResponses,
    /// It does not accept `content: null` beside calls.
    NoNullContent,
    /// It requires the thoughts that led to calls.
    NeedsReasoningEcho,
    /// It does not accept thoughts back.
    NoReasoningEcho,
    /// It does not accept the schema of an answer.
    NoSchema,
    /// It does not search the web for this model, or not beside tools.
    NoWebSearch,
}

/// A set of restrictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LearnedRestrictions(u32);

impl LearnedRestrictions {
    /// Returns whether this was learnt.
    pub(crate) fn has(self, restriction: LearnedRestriction) -> bool {
        self.0 & Self::bit(restriction) != 0
    }

    /// Adds a restriction.
    #[must_use]
    pub(crate) fn with(self, restriction: LearnedRestriction) -> Self {
        Self(self.0 | Self::bit(restriction))
    }

    fn bit(restriction: LearnedRestriction) -> u32 {
        1 << restriction as u32
    }
}

impl FromIterator<LearnedRestriction> for LearnedRestrictions {
    fn from_iter<I: IntoIterator<Item = LearnedRestriction>>(restrictions: I) -> Self {
        restrictions.into_iter().fold(Self::default(), Self::with)
    }
}

/// Stores the restrictions about one model.
#[derive(Debug, Default)]
pub(crate) struct RestrictionStore(AtomicU32);

impl RestrictionStore {
    /// Returns all restrictions so far.
    pub(crate) fn restrictions(&self) -> LearnedRestrictions {
        LearnedRestrictions(self.0.load(Ordering::Relaxed))
    }

    /// Adds the restrictions from a refusal.
    pub(crate) fn keep(&self, restrictions: LearnedRestrictions) {
        self.0.fetch_or(restrictions.0, Ordering::Relaxed);
    }
}
