//! What the tests of the store share: a database in a folder of its own, and short ways to say things in it.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::channel::NewDelivery;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Dedupe, Inbound, Message, Reply, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::{Accepted, Begin, Finish, TurnLog};
use aethon_core::testkit::ManualClock;
use aethon_store::{Options, Store};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

/// A store with a clock that is set by hand.
pub struct Home {
    pub folder: TempDir,
    pub clock: Arc<ManualClock>,
    pub store: Store,
}

pub fn start() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

impl Home {
    pub fn new() -> Self {
        Self::with(Options::default())
    }

    pub fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(start()));
        let store =
            Store::open(&folder.path().join("aethon.db"), Options { clock: clock.clone(), ..options })
                .unwrap();
        Self { folder, clock, store }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("aethon.db")
    }

    pub fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    /// Closes the store and opens it again.
    pub async fn reopen(&mut self) {
        self.store.close().await;
        let options = Options { clock: self.clock.clone(), ..Options::default() };
        self.store = Store::open(&self.path(), options).unwrap();
    }

    /// A whole turn: accepted, begun, answered.
    pub async fn turn(&self, session: &str, text: &str, reply: &str) -> TurnId {
        let turn = self.open_turn(session, text).await;
        self.store.finish(finish(&turn, session, reply)).await.unwrap();
        turn
    }

    /// A turn that has begun.
    pub async fn open_turn(&self, session: &str, text: &str) -> TurnId {
        let turn = TurnId::fresh();
        let accepted = self.store.accept(&turn, &say(session, text), Some(begin(text))).await.unwrap();
        assert!(matches!(accepted, Accepted::New(Some(_))));
        turn
    }

    /// What a rusqlite connection of our own says, for looking behind the traits.
    pub fn count(&self, sql: &str) -> i64 {
        rusqlite::Connection::open(self.path()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

pub fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

pub fn say(id: &str, text: &str) -> Inbound {
    Inbound::say(session(id), text)
}

pub fn say_as(id: &str, text: &str, dedupe: &str, valid_for: Option<u64>) -> Inbound {
    let dedupe = Dedupe { id: dedupe.into(), fingerprint: Some("f".into()), valid_for };
    Inbound { dedupe: Some(dedupe), ..say(id, text) }
}

pub fn message(role: Role, text: &str) -> Message {
    Message::new(role, vec![Block::text(text)], start())
}

pub fn begin(text: &str) -> Begin {
    Begin { message: message(Role::User, text), replaces: None }
}

pub fn replacing(text: &str, turn: &TurnId) -> Begin {
    Begin { replaces: Some(turn.clone()), ..begin(text) }
}

pub fn finish(turn: &TurnId, id: &str, text: &str) -> Finish {
    let usage = Usage { input_tokens: 3, output_tokens: 5, cached_tokens: 1, cost_usd: 0.25 };
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
    Finish { messages: vec![last], reply, deliveries: Vec::new(), next: None }
}

pub fn delivery(text: &str, expires_in: i64) -> NewDelivery {
    NewDelivery {
        channel: "telegram".into(),
        recipient: Some("42".into()),
        text: text.into(),
        expires_at: start() + SignedDuration::from_secs(expires_in),
    }
}

pub fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}
