//! What happens in the program, for those who watch it live: the dashboard, metrics, tests.
//!
//! A bounded broadcast of one closed enum. Publishing never waits; a reader that lags is told how much it missed.
//! Nothing of a turn depends on anybody listening, and nothing is built when nobody does. What is measured
//! goes beside it, because it is kept: see [`crate::telemetry`].

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::broadcast;

use crate::agents::AgentActivity;
use crate::approval::{ApprovalRequest, Resolution};
use crate::ids::{SessionId, TurnId};
use crate::ledger::{DaySpend, LedgerEntry};
use crate::log::LogRecord;
use crate::message::{Message, TurnEnd};
use crate::schedule::{JobId, RunRecord};
use crate::sop::SopRun;
use crate::telemetry::{Telemetry, TelemetryEvent};

/// How many events a reader may lag behind.
const CAPACITY: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A message was added to a transcript.
    Message {
        /// The session.
        session: SessionId,
        /// The message, stored.
        message: Arc<Message>,
    },
    /// A session began, changed or went.
    Session {
        /// Which one.
        session: SessionId,
        /// What happened to it.
        change: SessionChange,
    },
    /// A turn began.
    TurnStarted {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// A turn ended and is stored.
    TurnEnded {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// How it ended.
        end: TurnEnd,
    },
    /// Somebody is asked.
    ApprovalOpened(Arc<ApprovalRequest>),
    /// A question is settled.
    ApprovalDone {
        /// Which one.
        id: String,
        /// How the question was answered, and by whom.
        resolution: Resolution,
        /// The arguments that run in the place of those that were shown, where the person has changed them.
        edited: Option<Value>,
    },
    /// A line was logged.
    Log(Arc<LogRecord>),
    /// A model call was settled.
    Usage {
        /// The day's money after it.
        today: DaySpend,
        /// The call.
        entry: Arc<LedgerEntry>,
    },
    /// A timed job came, went, or has a run.
    Job {
        /// Which one.
        job: JobId,
        /// What happened to it.
        change: JobChange,
    },
    /// A run of a SOP began or changed.
    SopRun(Arc<SopRun>),
    /// An agent began to work, does something else, or is done.
    Agent(Arc<AgentActivity>),
    /// Something was measured; without secrets, as it is stored.
    Telemetry(Arc<TelemetryEvent>),
    /// A recording began, ended or went.
    Recording(Arc<RecordingNews>),
}

/// What happened to a timed job.
#[derive(Debug, Clone)]
pub enum JobChange {
    /// It was made.
    Added,
    /// It was removed.
    Removed,
    /// Somebody has paused it.
    Paused,
    /// It goes on after a pause.
    Resumed,
    /// A run of it began, ended, or was left out.
    Run(Arc<RunRecord>),
}

/// What happened to a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingNews {
    /// Its name.
    pub name: String,
    /// The session, where that is known.
    pub session: Option<SessionId>,
    /// What happened to it.
    pub change: RecordingChange,
}

/// The life of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingChange {
    /// It began.
    Began,
    /// It ended, and can be looked at.
    Ended,
    /// It was removed.
    Deleted,
}

/// What happened to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange {
    /// Its first message came.
    Created,
    /// Messages or title changed.
    Updated,
    /// Its messages were removed.
    Reset,
    /// It was removed.
    Deleted,
}

/// The broadcast, and beside it the [`Telemetry`] for what is measured. Cheap to clone; clones share both.
#[derive(Debug, Clone)]
pub struct EventBus {
    listeners: broadcast::Sender<Event>,
    telemetry: Telemetry,
}

impl Default for EventBus {
    fn default() -> Self {
        Self { listeners: broadcast::channel(CAPACITY).0, telemetry: Telemetry::default() }
    }
}

impl EventBus {
    /// Publishes what `event` builds, if anybody listens.
    pub fn publish(&self, event: impl FnOnce() -> Event) {
        if self.listeners.receiver_count() > 0 {
            // An error means that the last listener has just left.
            let _ = self.listeners.send(event());
        }
    }

    /// Whether anybody listens, for events that take more than a moment to build.
    pub fn has_listeners(&self) -> bool {
        self.listeners.receiver_count() > 0
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    /// Takes what is measured. It is counted, and on its way to the storage, whether anybody listens or not.
    pub fn record(&self, event: TelemetryEvent) {
        self.telemetry.record(event);
    }

    /// Where what is measured goes.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }
}
