//! The events that dashboards are told, as sent on the wire. The types of the dashboard are generated from these types
//! (`openapi::typescript`).

use aethon_core::agents::AgentActivity;
use aethon_core::approval::{ApprovalRequest, Resolution};
use aethon_core::event::{ConfigNews, Event, JobChange, RecordingChange, RecordingNews, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::{DaySpend, LedgerEntry, WorkKind};
use aethon_core::log::LogRecord;
use aethon_core::message::TurnEnd;
use aethon_core::model::Usage;
use aethon_core::schedule::{JobId, RunRecord};
use aethon_core::sop::SopRun;
use aethon_core::telemetry::TelemetryEvent;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::json::{self, Message, Rendering};

/// Something that happened, by its topic.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "channel", content = "data", rename_all = "snake_case")]
pub(super) enum News<'e> {
    /// A message was stored.
    Messages(MessageNews<'e>),
    /// A conversation changed, or a turn of it began or ended.
    Sessions(SessionNews<'e>),
    /// An agent, or the run of a procedure, changed its activity.
    Agents(AgentNews<'e>),
    /// Something was measured.
    Telemetry(TelemetryNews<'e>),
    /// A line was logged.
    Logs(LogNews<'e>),
    /// A question was asked or answered.
    Approvals(ApprovalNews<'e>),
    /// A job changed or ran.
    Scheduler(JobNews<'e>),
    /// A recording began, ended or was removed.
    Recordings(RecordingChanged<'e>),
    /// A model call was settled.
    Usage(UsageNews<'e>),
    /// The configuration was read again.
    Config(&'e ConfigNews),
    /// The reader was too slow, and so many events were left out.
    Lagged { missed: u64 },
}

/// What is sent of an event: the news with its number. `lagged` has none.
#[cfg(test)]
#[derive(JsonSchema)]
#[allow(
    dead_code,
    reason = "only its schema is wanted; the text of an event is shared, and its number is added to it"
)]
pub(super) struct DashboardFrame<'e> {
    #[serde(flatten)]
    news: News<'e>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

/// A stored message.
#[derive(Serialize, JsonSchema)]
pub(super) struct MessageNews<'e> {
    session_id: &'e SessionId,
    message: Message,
}

/// A conversation that changed, or whose turn began or ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionNews<'e> {
    session_id: &'e SessionId,
    change: SessionStep,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'e TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<TurnEnd>,
}

/// What happened to a conversation.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum SessionStep {
    TurnStarted,
    TurnEnded,
    #[serde(untagged)]
    Changed(SessionChange),
}

/// An agent at work, or the run of a procedure.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AgentNews<'e> {
    Run { sop_run: &'e SopRun },
    Activity(&'e AgentActivity),
}

/// A line of the log. Its timestamp is contractually named `time` here, and `ts` in the log files and `/api/logs`.
#[derive(Serialize, JsonSchema)]
pub(super) struct LogNews<'e> {
    #[serde(flatten)]
    record: &'e LogRecord,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    time: Timestamp,
}

/// A measurement; unlike a stored one, it has no number yet.
#[derive(Serialize, JsonSchema)]
pub(super) struct TelemetryNews<'e> {
    #[serde(flatten)]
    event: &'e TelemetryEvent,
}

/// A question that is open, or how one was settled.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum ApprovalNews<'e> {
    Open(&'e ApprovalRequest),
    Done {
        id: &'e str,
        #[serde(flatten)]
        resolution: Resolution,
        #[serde(skip_serializing_if = "Option::is_none")]
        edited: Option<&'e Value>,
    },
}

/// A job that changed or ran.
#[derive(Serialize, JsonSchema)]
pub(super) struct JobNews<'e> {
    job_id: &'e JobId,
    change: JobStep,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'e RunRecord>,
}

/// What happened to a job.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum JobStep {
    Added,
    Removed,
    Changed,
    Paused,
    Resumed,
    RunStarted,
    RunEnded,
}

/// A recording that began, ended or was removed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordingNews")]
pub(super) struct RecordingChanged<'e> {
    name: &'e str,
    session_id: Option<&'e SessionId>,
    change: RecordingChange,
}

/// A settled model call, and the day's money after it.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageNews<'e> {
    today: &'e DaySpend,
    call: CallNews<'e>,
}

/// A model call with the field names of `/api/usage`.
#[derive(Serialize, JsonSchema)]
struct CallNews<'e> {
    #[serde(flatten)]
    usage: &'e Usage,
    saved_usd: f64,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    at: Timestamp,
    session_id: Option<&'e SessionId>,
    turn: Option<&'e TurnId>,
    provider: &'e str,
    model: &'e str,
    kind: WorkKind,
    ok: bool,
}

impl<'e> News<'e> {
    /// Returns what is told of an event.
    pub(super) fn of(event: &'e Event) -> Self {
        match event {
            Event::Message { session, message } => Self::Messages(MessageNews {
                session_id: session,
                message: Message::new((**message).clone(), Rendering::Source).shortened(json::MAX_TEXT),
            }),
            Event::Session { session, change } => {
                Self::Sessions(SessionNews::of(session, SessionStep::Changed(*change)))
            }
            Event::TurnStarted { session, turn } => Self::Sessions(SessionNews {
                turn: Some(turn),
                ..SessionNews::of(session, SessionStep::TurnStarted)
            }),
            Event::TurnEnded { session, turn, end } => Self::Sessions(SessionNews {
                turn: Some(turn),
                end: Some(*end),
                ..SessionNews::of(session, SessionStep::TurnEnded)
            }),
            Event::ApprovalOpened(request) => Self::Approvals(ApprovalNews::Open(request)),
            Event::ApprovalDone { id, resolution, edited } => {
                Self::Approvals(ApprovalNews::Done { id, resolution: *resolution, edited: edited.as_ref() })
            }
            Event::Log(record) => Self::Logs(LogNews { record, time: record.ts }),
            Event::Usage { today, entry } => Self::Usage(UsageNews { today, call: CallNews::of(entry) }),
            Event::Job { job, change } => Self::Scheduler(JobNews::of(job, change)),
            Event::SopRun(run) => Self::Agents(AgentNews::Run { sop_run: run }),
            Event::Agent(activity) => Self::Agents(AgentNews::Activity(activity)),
            Event::Telemetry(event) => Self::Telemetry(TelemetryNews { event }),
            Event::Recording(news) => Self::Recordings(RecordingChanged::of(news)),
            Event::Config(news) => Self::Config(news),
            Event::Elsewhere(event) => Self::of(event),
        }
    }
}

/// Returns the topic of an event, which is the `channel` of its news.
pub(super) fn topic(event: &Event) -> &'static str {
    match event {
        Event::Message { .. } => "messages",
        Event::Session { .. } | Event::TurnStarted { .. } | Event::TurnEnded { .. } => "sessions",
        Event::ApprovalOpened(_) | Event::ApprovalDone { .. } => "approvals",
        Event::Log(_) => "logs",
        Event::Usage { .. } => "usage",
        Event::Job { .. } => "scheduler",
        Event::SopRun(_) | Event::Agent(_) => "agents",
        Event::Telemetry(_) => "telemetry",
        Event::Recording(_) => "recordings",
        Event::Config(_) => "config",
        Event::Elsewhere(event) => topic(event),
    }
}

impl<'e> SessionNews<'e> {
    fn of(session_id: &'e SessionId, change: SessionStep) -> Self {
        Self { session_id, change, turn: None, end: None }
    }
}

impl<'e> JobNews<'e> {
    fn of(job_id: &'e JobId, change: &'e JobChange) -> Self {
        let (change, run) = match change {
            JobChange::Added => (JobStep::Added, None),
            JobChange::Removed => (JobStep::Removed, None),
            JobChange::Changed => (JobStep::Changed, None),
            JobChange::Paused => (JobStep::Paused, None),
            JobChange::Resumed => (JobStep::Resumed, None),
            JobChange::Run(run) if run.ended_at.is_some() => (JobStep::RunEnded, Some(&**run)),
            JobChange::Run(run) => (JobStep::RunStarted, Some(&**run)),
        };
        Self { job_id, change, run }
    }
}

impl<'e> RecordingChanged<'e> {
    fn of(news: &'e RecordingNews) -> Self {
        Self { name: &news.name, session_id: news.session.as_ref(), change: news.change }
    }
}

impl<'e> CallNews<'e> {
    fn of(entry: &'e LedgerEntry) -> Self {
        Self {
            usage: &entry.usage,
            saved_usd: entry.saved_usd,
            at: entry.at,
            session_id: entry.session.as_ref(),
            turn: entry.turn.as_ref(),
            provider: &entry.provider,
            model: &entry.model,
            kind: entry.kind,
            ok: entry.is_ok,
        }
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::approval::{Decision, ResolutionReason};
    use serde_json::json;

    use super::*;

    fn told(event: &Event) -> Value {
        let news = serde_json::to_value(News::of(event)).unwrap();
        assert_eq!(news["channel"], topic(event), "a subscription is by the topic");
        news["data"].clone()
    }

    #[test]
    fn news_of_a_session_names_what_happened_to_it() {
        let session = SessionId::of("webchat", "a").unwrap();
        let turn = TurnId::existing("t");
        let created = told(&Event::Session { session: session.clone(), change: SessionChange::Created });
        assert_eq!(created, json!({ "session_id": "webchat:a", "change": "created" }));
        let started = told(&Event::TurnStarted { session: session.clone(), turn: turn.clone() });
        assert_eq!(started, json!({ "session_id": "webchat:a", "change": "turn_started", "turn": "t" }));
        let ended = told(&Event::TurnEnded { session, turn, end: TurnEnd::Stopped });
        let expected =
            json!({ "session_id": "webchat:a", "change": "turn_ended", "turn": "t", "end": "stopped" });
        assert_eq!(ended, expected);
    }

    #[test]
    fn news_of_a_decision_names_who_decided() {
        let resolution = Resolution { decision: Decision::Deny, reason: ResolutionReason::Timeout };
        let event = Event::ApprovalDone { id: "q".into(), resolution, edited: None };
        assert_eq!(
            told(&event),
            json!({ "state": "done", "id": "q", "decision": "deny", "reason": "timeout" })
        );
        let elsewhere = Event::Elsewhere(std::sync::Arc::new(event.clone()));
        assert_eq!(told(&elsewhere), told(&event));
    }

    #[test]
    fn news_of_jobs_recordings_and_configuration_have_their_topics() {
        let job = JobId::parse("tea").unwrap();
        let paused = told(&Event::Job { job, change: JobChange::Paused });
        assert_eq!(paused, json!({ "job_id": "tea", "change": "paused" }));
        let news = RecordingNews { name: "r".into(), session: None, change: RecordingChange::Ended };
        let ended = told(&Event::Recording(news.into()));
        assert_eq!(ended, json!({ "name": "r", "session_id": null, "change": "ended" }));
        let config = told(&Event::Config(ConfigNews::default().into()));
        assert_eq!(config, json!({ "taken_over": [], "needs_restart": [] }));
    }
}
