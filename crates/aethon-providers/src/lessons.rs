//! What refusals of a service have taught about its requests: which parts it does not accept, and which it requires.
//!
//! No table can know every server that speaks someone else's dialect. So a request is written by what is known. If a
//! service refuses a part of it by name, that part is left out from then on and the request is sent again. Each
//! lesson is learnt once and kept until the program ends.

use std::sync::atomic::{AtomicU32, Ordering};

/// One thing that was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lesson {
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
    Responses,
    /// It does not accept `content: null` beside calls.
    NoNullContent,
    /// It requires the thoughts that led to calls.
    ThoughtsBack,
    /// It does not accept thoughts back.
    NoThoughtsBack,
}

/// A set of lessons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lessons(u32);

impl Lessons {
    /// Returns whether this was learnt.
    pub(crate) fn has(self, lesson: Lesson) -> bool {
        self.0 & Self::bit(lesson) != 0
    }

    /// Adds a lesson.
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

/// Stores the lessons about one model.
#[derive(Debug, Default)]
pub(crate) struct LessonStore(AtomicU32);

impl LessonStore {
    /// Returns all lessons so far.
    pub(crate) fn lessons(&self) -> Lessons {
        Lessons(self.0.load(Ordering::Relaxed))
    }

    /// Adds what a refusal taught.
    pub(crate) fn keep(&self, lessons: Lessons) {
        self.0.fetch_or(lessons.0, Ordering::Relaxed);
    }
}
