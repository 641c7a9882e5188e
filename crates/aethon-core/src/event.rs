//! Events for live observers: the dashboard, metrics, tests.
//!
//! A bounded broadcast of one closed enum. Publishing never waits; a reader that lags learns how much it missed. No
//! turn depends on a listener, and without one events are not even built. Measurements travel separately,
//! because they are stored: see [`crate::telemetry`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// A session was created, changed or removed.
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
    /// A call waits for approval.
    ApprovalOpened(Arc<ApprovalRequest>),
    /// An approval request is settled.
    ApprovalDone {
        /// Which one.
        id: String,
        /// How it was settled, and by whom.
        resolution: Resolution,
        /// The arguments that run instead of those that were shown, if the person changed them.
        edited: Option<Value>,
    },
    /// A line was logged.
    Log(Arc<LogRecord>),
    /// A model call was settled. Calls are announced together, a little later than that.
    Usage {
        /// The day's money after it.
        today: DaySpend,
        /// The call.
        entry: Arc<LedgerEntry>,
    },
    /// A scheduled job was added, changed or removed, or has a run.
    Job {
        /// Which one.
        job: JobId,
        /// What happened to it.
        change: JobChange,
    },
    /// A run of a SOP began or changed.
    SopRun(Arc<SopRun>),
    /// An agent starts working, changes its activity, or is done.
    Agent(Arc<AgentActivity>),
    /// Something was measured; as stored, without secrets.
    Telemetry(Arc<TelemetryEvent>),
    /// A recording began, ended or was removed.
    Recording(Arc<RecordingNews>),
    /// The configuration was read again while the program runs.
    Config(Arc<ConfigNews>),
    /// Something happened at another instance of the same storage. It is shown here, and acted on there.
    Elsewhere(Arc<Event>),
}

/// The changes in a configuration file; keys only, no values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConfigReloaded")]
pub struct ConfigNews {
    /// Keys whose new values are in force.
    pub taken_over: Vec<String>,
    /// Keys whose new values count only after a restart.
    pub needs_restart: Vec<String>,
}

/// What happened to a scheduled job.
#[derive(Debug, Clone)]
pub enum JobChange {
    /// It was added.
    Added,
    /// It was removed.
    Removed,
    /// It got another task, time or recipient.
    Changed,
    /// It was paused.
    Paused,
    /// It continues after a pause.
    Resumed,
    /// A run of it began, ended, or was skipped.
    Run(Arc<RunRecord>),
}

/// What happened to a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingNews {
    /// Its name.
    pub name: String,
    /// The session, if known.
    pub session: Option<SessionId>,
    /// What happened to it.
    pub change: RecordingChange,
}

/// The life cycle of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum RecordingChange {
    /// It began.
    Began,
    /// It ended, and can be viewed.
    Ended,
    /// It was removed.
    Deleted,
}

/// What happened to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SessionChange {
    /// Its first message arrived.
    Created,
    /// Its messages or its title changed.
    Updated,
    /// Its messages were removed.
    Reset,
    /// It was removed.
    Deleted,
}

/// The broadcast, together with the [`Telemetry`] for measurements. Cheap to clone; clones share both.
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

impl Event {
    /// Returns whether it tells of a change in a temporary session, other than its end.
    fn is_of_temporary(&self) -> bool {
        match self {
            Self::Message { session, .. } => session.is_temporary(),
            Self::Session { session, change } => *change != SessionChange::Deleted && session.is_temporary(),
            _ => false,
        }
    }
}

impl EventBus {
    /// Publishes what `event` builds, if anybody is listening. What is said in a temporary session, and how it changes, concerns
    /// those who watch it and no others; only its end is news.
    pub fn publish(&self, event: impl FnOnce() -> Event) {
        if self.listeners.receiver_count() > 0 {
            let event = event();
            if !event.is_of_temporary() {
                // An error means that the last listener has just left.
                let _ = self.listeners.send(event);
            }
        }
    }

    /// Returns whether anybody is listening, for events that are expensive to build.
    pub fn has_listeners(&self) -> bool {
        self.listeners.receiver_count() > 0
    }

    /// Subscribes to events from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    /// Records a measurement. It is counted and queued for the storage, whether anybody is listening or not.
    pub fn record(&self, event: TelemetryEvent) {
        self.telemetry.record(event);
    }

    /// Returns where measurements go.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_temporary_session_is_news() {
        let (bus, session) = (EventBus::default(), SessionId::temporary("webchat", None).unwrap());
        let mut events = bus.subscribe();
        for change in [SessionChange::Created, SessionChange::Updated, SessionChange::Deleted] {
            bus.publish(|| Event::Session { session: session.clone(), change });
        }
        let told = events.try_recv().unwrap();
        assert!(matches!(told, Event::Session { change: SessionChange::Deleted, .. }), "{told:?}");
        assert!(events.try_recv().is_err());
    }
}
