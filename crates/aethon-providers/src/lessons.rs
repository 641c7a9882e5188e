//! What the refusals of a service have taught about its requests: which parts it does not take, and which it misses.
//!
//! No table can know every server that speaks somebody's dialect. So a request is written by what is known, and when a
//! service refuses a part of it by name, that part is left out from then on and the request is sent again. Each lesson is
//! learnt once and kept for as long as the program runs.

use std::sync::atomic::{AtomicU32, Ordering};

/// One thing that was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lesson {
    /// It takes no temperature.
    NoTemperature,
    /// It takes no nucleus.
    NoTopP,
    /// It does not know `max_tokens`.
    NoMaxTokens,
    /// It does not know `max_completion_tokens`.
    NoMaxCompletionTokens,
    /// It cannot be told how much to think.
    NoEffort,
    /// It does not summarise its thoughts, as OpenAI for accounts that are not verified.
    NoSummary,
    /// It takes no key for its cache.
    NoCacheKey,
    /// It takes no `stream_options`.
    NoStreamOptions,
    /// It wants this model to be asked on the responses interface.
    Responses,
    /// It takes no `content: null` beside calls.
    NoNullContent,
    /// It wants the thoughts back that led to calls.
    ThoughtsBack,
    /// It does not take thoughts back.
    NoThoughtsBack,
}

/// A set of lessons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lessons(u32);

impl Lessons {
    /// Whether this was learnt.
    pub(crate) fn has(self, lesson: Lesson) -> bool {
        self.0 & Self::bit(lesson) != 0
    }

    /// With one more.
    #[must_use]
    pub(crate) fn with(self, lesson: Lesson) -> Self {
        Self(self.0 | Self::bit(lesson))
    }

    fn bit(lesson: Lesson) -> u32 {
        1 << lesson as u32
    }
}

impl FromIterator<Lesson> for Lessons {
    fn from_iter<I: IntoIterator<Item = Lesson>>(lessons: I) -> Self {
        lessons.into_iter().fold(Self::default(), Self::with)
    }
}

/// Where the lessons of one model are kept.
#[derive(Debug, Default)]
pub(crate) struct Notebook(AtomicU32);

impl Notebook {
    /// All that was learnt so far.
    pub(crate) fn lessons(&self) -> Lessons {
        Lessons(self.0.load(Ordering::Relaxed))
    }

    /// Keeps what a refusal taught.
    pub(crate) fn keep(&self, lessons: Lessons) {
        self.0.fetch_or(lessons.0, Ordering::Relaxed);
    }
}
