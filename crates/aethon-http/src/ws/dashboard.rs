//! `/ws/dashboard`: live events of the program.
//!
//! Each socket subscribes to the [`Feed`] and sends the events of the topics its client wants. A slow reader is notified
//! of the number of events it missed and continues with the newest.

use std::sync::Arc;

use aethon_core::event::EventBus;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::feed::{Batch, Feed, SharedEvent, Subscription};
use super::frames::{json, written};
use super::in_sight::PageInSight;
use super::news::{News, topic};
use super::socket::{Close, Received, Socket};
use crate::deps::Runtime;

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
            frames.extend((missed > 0).then(|| json(&News::Lagged { missed })));
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
        let shared = shared.text(|event| written(&News::of(event)));
        Some(numbered(shared, self.seq).into())
    }
}

/// Adds its number to the text of an event, an object.
fn numbered(text: &str, seq: u64) -> String {
    let fields = text.strip_suffix('}').unwrap_or(text);
    format!("{fields},\"seq\":{seq}}}")
}

/// What a client asks.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "channel", rename_all = "lowercase")]
#[schemars(rename = "DashboardRequest")]
pub(super) enum Asked {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
