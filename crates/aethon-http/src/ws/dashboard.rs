//! `/ws/dashboard`: live events of the program.
//!
//! Each socket subscribes to the [`Feed`] and sends the events of the topics its client wants. A slow reader is notified
//! of the number of events it missed and continues with the newest.

use std::sync::Arc;

use aethon_core::event::{Event, EventBus, JobChange, RecordingChange, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::{DaySpend, LedgerEntry, WorkKind};
use aethon_core::log::LogRecord;
use aethon_core::model::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::feed::{Batch, Feed, SharedEvent, Subscription};
use super::frames::{self, written};
use super::in_sight::PageInSight;
use super::socket::{Close, Received, Socket};
use crate::deps::Runtime;
use crate::json::{Message, Rendering};

/// About how many events are written together.
const TOGETHER: usize = 256;

/// The topics. Those whose part of the program is absent stay silent.
const TOPICS: [&str; 10] = [
    "messages",
    "sessions",
    "agents",
    "telemetry",
    "logs",
    "approvals",
    "scheduler",
    "recordings",
    "usage",
    "config",
];
/// The longest text of a block that is sent. The page loads the session for more.
const MAX_TEXT: usize = 4096;

/// Runs until the connection ends. Returns a close code if it is still open.
pub(super) async fn run(
    (bus, feed): (&EventBus, &Feed),
    (runtime, mut page): (&Runtime, PageInSight),
    socket: &mut Socket,
) -> Option<Close> {
    let mut news = feed.subscribe(bus);
    let mut shutdown = runtime.shutdown.clone();
    let mut subscriber = Subscriber { topics: None, seq: 0, heard: news.before };
    loop {
        let told = tokio::select! {
            biased;
            () = shutdown.requested() => return Some(Close::AWAY),
            received = socket.receive(true) => match received {
                Received::Text(text) => {
                    match Asked::parse(&text) {
                        Some(Asked::Subscribe { topics }) => subscriber.topics = Some(known(&topics)),
                        Some(Asked::Visible { visible }) => page.set(visible),
                        None => {}
                    }
                    Ok(())
                }
                Received::Tick => Ok(()),
                Received::Over => return None,
                // Unknown input of any kind is ignored.
                Received::Wrong(Close::BINARY) => Ok(()),
                Received::Wrong(close) => return Some(close),
            },
            first = news.next() => match first {
                // The program is shutting down; the request to stop arrives next.
                Err(RecvError::Closed) => return Some(Close::AWAY),
                // How many, the numbers of the next batch tell.
                Err(RecvError::Lagged(_)) => Ok(()),
                Ok(first) => socket.send_all(subscriber.frames(first, &mut news)).await,
            },
        };
        if let Err(unwritable) = told {
            return unwritable.close();
        }
    }
}

struct Subscriber {
    /// The topics the client wants; all until it subscribes.
    topics: Option<Vec<&'static str>>,
    seq: u64,
    /// How many events have come, sent or not.
    heard: u64,
}

impl Subscriber {
    /// Returns the frames of the first batch and of those queued behind it.
    fn frames(&mut self, first: Arc<Batch>, news: &mut Subscription) -> Vec<Utf8Bytes> {
        let mut next = Some(first);
        let mut frames = Vec::new();
        while let Some(batch) = next {
            let missed = batch.before.saturating_sub(self.heard);
            frames.extend((missed > 0).then(|| lagged(missed)));
            self.heard = batch.before + batch.events.len() as u64;
            frames.extend(batch.events.iter().filter_map(|event| self.frame(event)));
            if frames.len() >= TOGETHER {
                break;
            }
            next = loop {
                match news.try_next() {
                    Ok(batch) => break Some(batch),
                    Err(TryRecvError::Lagged(_)) => {}
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break None,
                }
            };
        }
        frames
    }

    /// Returns the frame of an event, unless the client did not subscribe to its topic.
    fn frame(&mut self, shared: &SharedEvent) -> Option<Utf8Bytes> {
        let topic = topic(&shared.event);
        if self.topics.as_ref().is_some_and(|topics| !topics.contains(&topic)) {
            return None;
        }
        self.seq += 1;
        // The number is all that differs between dashboards.
        let shared =
            shared.text(|event| format!("{{\"channel\":\"{topic}\",\"data\":{},\"seq\":", data(event)));
        let number = self.seq.to_string();
        let mut frame = String::with_capacity(shared.len() + number.len() + 1);
        frame.push_str(shared);
        frame.push_str(&number);
        frame.push('}');
        Some(frame.into())
    }
}

/// Reports the number of events that a slow reader missed.
fn lagged(missed: u64) -> Utf8Bytes {
    frames::json(&json!({ "channel": "lagged", "data": { "missed": missed } }))
}

/// Formats a log record. Its timestamp is contractually named `time` here, and `ts` in the log files and `/api/logs`.
fn logged(record: &LogRecord) -> Value {
    let mut data = json!(record);
    data["time"] = data["ts"].clone();
    data
}

/// What a client asks.
#[derive(Deserialize)]
#[serde(tag = "channel", rename_all = "lowercase")]
enum Asked {
    /// To receive these topics.
    Subscribe { topics: Vec<String> },
    /// To know whether its page is in sight.
    Visible { visible: bool },
}

impl Asked {
    /// Parses a frame; `None` if it is none that is known.
    fn parse(text: &str) -> Option<Self> {
        // Serde would accept an array for the struct.
        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
    }
}

/// Returns the topics among these names.
fn known(names: &[String]) -> Vec<&'static str> {
    TOPICS.into_iter().filter(|topic| names.iter().any(|name| name == topic)).collect()
}

fn topic(event: &Event) -> &'static str {
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

/// Formats an event. What every turn has is written without a document in between.
fn data(event: &Event) -> String {
    let session = |session_id, change| SessionNews { session_id, change, turn: None, end: None };
    match event {
        Event::Message { session, message } => written(&MessageNews {
            session_id: session,
            message: Message::new((**message).clone(), Rendering::Source).shortened(MAX_TEXT),
        }),
        Event::Session { session: id, change } => {
            let change = match change {
                SessionChange::Created => "created",
                SessionChange::Updated => "updated",
                SessionChange::Reset => "reset",
                SessionChange::Deleted => "deleted",
            };
            written(&session(id, change))
        }
        Event::TurnStarted { session: id, turn } => {
            written(&SessionNews { turn: Some(turn), ..session(id, "turn_started") })
        }
        Event::TurnEnded { session: id, turn, end } => {
            let end = Some(end.as_str());
            written(&SessionNews { turn: Some(turn), end, ..session(id, "turn_ended") })
        }
        Event::ApprovalOpened(request) => {
            let mut data = json!(**request);
            if let Some(fields) = data.as_object_mut() {
                fields.insert("state".into(), "open".into());
            }
            data.to_string()
        }
        Event::ApprovalDone { id, resolution, edited } => {
            let mut data = json!({ "state": "done", "id": id, "decision": resolution.decision, "reason": resolution.reason });
            if let Some(edited) = edited {
                data["edited"] = edited.clone();
            }
            data.to_string()
        }
        Event::Log(record) => logged(record).to_string(),
        Event::Usage { today, entry } => written(&UsageNews { today, call: CallNews::of(entry) }),
        Event::Job { job, change } => {
            let data = match change {
                JobChange::Added => json!({ "job_id": job.as_str(), "change": "added" }),
                JobChange::Removed => json!({ "job_id": job.as_str(), "change": "removed" }),
                JobChange::Changed => json!({ "job_id": job.as_str(), "change": "changed" }),
                JobChange::Paused => json!({ "job_id": job.as_str(), "change": "paused" }),
                JobChange::Resumed => json!({ "job_id": job.as_str(), "change": "resumed" }),
                JobChange::Run(run) => {
                    let change = if run.ended_at.is_some() { "run_ended" } else { "run_started" };
                    json!({ "job_id": job.as_str(), "change": change, "run": **run })
                }
            };
            data.to_string()
        }
        Event::SopRun(run) => json!({ "sop_run": **run }).to_string(),
        Event::Agent(activity) => written(&**activity),
        Event::Telemetry(event) => written(&**event),
        Event::Recording(news) => {
            let change = match news.change {
                RecordingChange::Began => "began",
                RecordingChange::Ended => "ended",
                RecordingChange::Deleted => "deleted",
            };
            json!({ "name": news.name, "session_id": news.session, "change": change }).to_string()
        }
        Event::Config(news) => written(&**news),
        Event::Elsewhere(event) => data(event),
    }
}

#[derive(Serialize)]
struct MessageNews<'e> {
    session_id: &'e SessionId,
    message: Message,
}

#[derive(Serialize)]
struct SessionNews<'e> {
    session_id: &'e SessionId,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'e TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'static str>,
}

#[derive(Serialize)]
struct UsageNews<'e> {
    today: &'e DaySpend,
    call: CallNews<'e>,
}

/// A model call with the field names of `/api/usage`.
#[derive(Serialize)]
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
    use super::*;

    fn wanted(text: &str) -> Option<Vec<&'static str>> {
        match Asked::parse(text)? {
            Asked::Subscribe { topics } => Some(known(&topics)),
            Asked::Visible { .. } => None,
        }
    }

    #[test]
    fn a_subscription_names_topics_and_all_else_is_passed_over() {
        let check =
            |text: &str, expected: Option<&[&str]>| assert_eq!(wanted(text).as_deref(), expected, "{text}");
        check(r#"{"channel":"subscribe","topics":["usage","logs"]}"#, Some(&["logs", "usage"]));
        check(&json!({"channel": "subscribe", "topics": TOPICS}).to_string(), Some(&TOPICS));
        check(r#"{"channel":"subscribe","topics":[]}"#, Some(&[]));
        check(r#"{"channel":"subscribe","topics":["nothing","usage"]}"#, Some(&["usage"]));
        check(r#"{"channel":"subscribe"}"#, None);
        check(r#"{"channel":"subscribe","topics":[7]}"#, None);
        check(r#"{"channel":"dance","topics":[]}"#, None);
        check(r#"["subscribe",[]]"#, None);
        check("hello", None);
    }
}
