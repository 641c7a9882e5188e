//! Shorthands for tests of storages: for the conformance suite, and for a backend's own tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::channel::NewDelivery;
use crate::ids::{SessionId, TurnId};
use crate::message::{Block, Dedupe, Inbound, Message, Reply, Role, TurnEnd};
use crate::model::Usage;
use crate::session::{Begin, Finish};

/// Returns the time that a test's clock shows at first.
pub fn start() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

/// Returns the session with this id.
pub fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// Returns a message of the owner in a session.
pub fn say(id: &str, text: &str) -> Inbound {
    Inbound::say(session(id), text)
}

/// The same with a dedupe id of its sender, which is valid for this many seconds.
pub fn say_as(id: &str, text: &str, dedupe: &str, valid_for: Option<u64>) -> Inbound {
    let dedupe = Dedupe { id: dedupe.into(), fingerprint: Some("f".into()), valid_for };
    say(id, text).with_dedupe(dedupe)
}

/// Returns a message with a single text, not stored yet.
pub fn message(role: Role, text: &str) -> Message {
    Message::new(role, vec![Block::text(text)], start())
}

/// Returns the start of a turn with this text.
pub fn begin(text: &str) -> Begin {
    Begin { message: message(Role::User, text), replaces: None }
}

/// Returns the start of a turn that replaces another one.
pub fn replacing(text: &str, turn: &TurnId) -> Begin {
    Begin { replaces: Some(turn.clone()), ..begin(text) }
}

/// Returns the end of a turn with this answer, by the model `m`.
pub fn finish(turn: &TurnId, id: &str, text: &str) -> Finish {
    let usage =
        Usage { input_tokens: 3, output_tokens: 5, cached_tokens: 1, cost_usd: 0.25, ..Usage::default() };
    let mut last = message(Role::Assistant, text);
    last.model = Some("m".into());
    last.usage = Some(usage);
    last.stop_reason = Some(TurnEnd::End);
    let reply = Reply {
        turn: turn.clone(),
        session: session(id),
        text: text.into(),
        end: TurnEnd::End,
        model: "m".into(),
        usage,
        failure: None,
    };
    Finish { messages: Arc::new(vec![last]), reply: Arc::new(reply), deliveries: Vec::new(), next: None }
}

/// Returns a delivery that expires this many seconds after the start.
pub fn delivery(text: &str, expires_in: i64) -> NewDelivery {
    let expires_at = start() + SignedDuration::from_secs(expires_in);
    NewDelivery::new("telegram", text, expires_at).with_recipient(Some("42".into()))
}

/// Returns the texts of messages.
pub fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}
