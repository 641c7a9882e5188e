//! The limits of the engine, as values. The facade fills them from the configuration.

use std::time::Duration;

use aethon_core::model::Capabilities;

use crate::window::Limits;

/// How far the engine goes. Begin with the default and set what differs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Requests to a model that one turn may make.
    pub max_iterations: u32,
    /// How long a turn may take.
    pub turn_timeout: Duration,
    /// How often a failed request is sent again.
    pub max_retries: u32,
    /// How often a turn may repeat itself before it is ended; 0 for as often as it likes.
    pub loop_limit: usize,
    /// How long a person may think before a tool that needs an approval counts as denied.
    pub approval_timeout: Duration,
    /// The most characters of a tool's output that go to a model.
    pub max_tool_output_chars: usize,
    /// Turns that may wait in one session; further ones are refused.
    pub queue_per_session: usize,
    /// Turns that may run or wait in all sessions together; further ones are refused.
    pub max_turns: usize,
    /// Messages of a session that a model may see; when there are more, the older half is summarised.
    pub window_messages: usize,
    /// When older messages are summarised.
    pub compaction: Compaction,
    /// How many of the newest messages stay verbatim then, as far as they fit.
    pub keep_recent: usize,
    /// What is kept in memory between turns.
    pub cache: Cache,
    /// After how long an undelivered reply is too old to be of use.
    pub delivery_lifetime: Duration,
    /// Which turns are taken up again after a crash.
    pub resume: Resume,
}

/// What is kept in memory between turns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cache {
    /// Sessions whose newest messages are kept.
    pub sessions: usize,
    /// Bytes of messages that are kept.
    pub bytes: usize,
}

/// When older messages are summarised.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Compaction {
    /// The share of the model's context window that a request may fill.
    pub share: f64,
    /// Whether the next summary is made in the background when a turn has ended, before it is needed.
    pub ahead: bool,
}

/// Which turns are taken up again after a crash.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resume {
    /// How old one may be.
    pub within: Duration,
    /// How often one may begin; what crashed the program so often is not tried again.
    pub attempts: u32,
}

impl Options {
    /// With what this changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What a request to this model may take.
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
            loop_limit: 3,
            approval_timeout: Duration::from_secs(120),
            max_tool_output_chars: 12_000,
            queue_per_session: 32,
            max_turns: 512,
            window_messages: 2_000,
            compaction: Compaction { share: 0.8, ahead: true },
            keep_recent: 10,
            cache: Cache { sessions: 256, bytes: 32 << 20 },
            delivery_lifetime: Duration::from_secs(24 * 3600),
            resume: Resume { within: Duration::from_secs(15 * 60), attempts: 3 },
        }
    }
}
