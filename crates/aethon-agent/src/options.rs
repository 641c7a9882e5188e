//! The engine's limits, as values. The facade fills them in from the configuration.

use std::time::Duration;

use aethon_core::model::Capabilities;

use crate::window::Limits;

/// The limits of an engine. Start from the default and change single values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How many requests to a model one turn may make.
    pub max_iterations: u32,
    /// How long a turn may take.
    pub turn_timeout: Duration,
    /// How many times a failed request is sent again.
    pub max_retries: u32,
    /// When a turn that repeats itself is ended.
    pub loops: LoopLimits,
    /// How long a person may take before a tool that needs approval counts as denied.
    pub approval_timeout: Duration,
    /// The most characters of a tool's output that go to a model.
    pub max_tool_output_chars: usize,
    /// Whether models see the text files that come with a message between markers of outside content.
    pub marks_files: bool,
    /// Whether the model's provider may search the web in a turn that outside text is in. A search sends words out, and no
    /// person can be asked about one.
    pub searches_beside_outside_text: bool,
    /// How many turns may run and wait.
    pub queues: QueueLimits,
    /// How many messages of a session a model may see, which bounds the memory that a conversation takes; beyond that,
    /// the older half is summarised.
    pub window_messages: usize,
    /// When older messages are summarised.
    pub compaction: Compaction,
    /// How many of the newest messages then stay verbatim, as far as they fit.
    pub keep_recent: usize,
    /// The caches kept between turns.
    pub cache: Cache,
    /// The age at which an undelivered reply is no longer useful.
    pub delivery_lifetime: Duration,
    /// Which turns are resumed after a crash.
    pub resume: Resume,
}

/// When repetitions are a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopLimits {
    /// How many hasty repetitions are; 0 switches the detection off.
    pub times: usize,
    /// How long a call may poll something that does not change.
    pub polling: Duration,
}

/// How many turns may run and wait; further ones are refused. A quarter of each is kept for the owner.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct QueueLimits {
    /// How many may wait in one session.
    pub per_session: usize,
    /// How many may run or wait in all sessions together.
    pub turns: usize,
    /// How many bytes of text and files those may have brought. One message always fits.
    pub bytes: usize,
}

/// The limits of the caches kept between turns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cache {
    /// How many sessions' newest messages are kept.
    pub sessions: usize,
    /// How many bytes of messages are kept.
    pub bytes: usize,
}

/// When older messages are summarised.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Compaction {
    /// The share of the model's context window that a request may fill.
    pub share: f64,
    /// Whether the next summary is made in the background at the end of a turn, before it is needed.
    pub ahead: bool,
}

/// Which turns are resumed after a crash.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resume {
    /// How old a turn may be.
    pub within: Duration,
    /// How many times a turn may begin. A turn that has crashed the program that often is not tried again.
    pub attempts: u32,
}

impl Options {
    /// Applies a change to the options.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns how large a request to this model may be.
    pub(crate) fn limits_of(&self, model: &Capabilities) -> Limits {
        Limits::of(model, self.compaction.share, self.window_messages, self.keep_recent)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_iterations: 40,
            turn_timeout: Duration::from_secs(600),
            max_retries: 4,
            loops: LoopLimits { times: 3, polling: Duration::from_secs(600) },
            approval_timeout: Duration::from_secs(120),
            max_tool_output_chars: 12_000,
            marks_files: true,
            searches_beside_outside_text: true,
            queues: QueueLimits { per_session: 32, turns: 512, bytes: 64 << 20 },
            window_messages: 10_000,
            compaction: Compaction { share: 0.8, ahead: true },
            keep_recent: 10,
            cache: Cache { sessions: 256, bytes: 32 << 20 },
            delivery_lifetime: Duration::from_secs(24 * 3600),
            resume: Resume { within: Duration::from_secs(15 * 60), attempts: 3 },
        }
    }
}
