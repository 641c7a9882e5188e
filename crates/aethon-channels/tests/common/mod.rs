//! What the tests of several platforms share: an assistant that notes what it is given, the rules and the memory of a channel,
//! and sockets without a network.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_channels::{Groups, Messenger, Pairing, Rules, Strangers, Surroundings};
use aethon_core::approval::{ApprovalRequest, PendingApprovals};
use aethon_core::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use aethon_core::channel::{Channel, Courier, Delivery, NewDelivery};
use aethon_core::error::{Error, Result};
use aethon_core::exchange::{ExchangeRequest, ExchangeResponse};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::session::Clear;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::Surface;
use aethon_core::testkit::{ManualClock, MemoryStore};
use async_trait::async_trait;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// When the tests take place, in seconds.
pub(crate) const NOW: i64 = 1_800_000_000;

/// An assistant that notes what it is given, once.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) inbound: Mutex<Vec<Inbound>>,
    pub(crate) surfaces: Mutex<Vec<Arc<dyn Surface>>>,
    /// How often it was given something, repetitions included.
    pub(crate) offered: AtomicU32,
    /// How many offers are refused, because nothing can be stored.
    pub(crate) refusals: AtomicU32,
    known: Mutex<BTreeSet<String>>,
}

impl Notes {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.inbound.lock().unwrap().iter().map(|inbound| inbound.text.clone()).collect()
    }

    pub(crate) fn last_surface(&self) -> Arc<dyn Surface> {
        self.surfaces.lock().unwrap().last().unwrap().clone()
    }
}

#[async_trait]
impl Assistant for Notes {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        self.offered.fetch_add(1, Ordering::Relaxed);
        let refused =
            self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if refused.is_ok() {
            return Err(Error::full("nothing can be stored"));
        }
        let id = inbound.dedupe.as_ref().unwrap().id.clone();
        let is_new = self.known.lock().unwrap().insert(id);
        if is_new {
            self.inbound.lock().unwrap().push(inbound);
            self.surfaces.lock().unwrap().push(surface);
        }
        Ok(Submitted { turn: TurnId::fresh(), queued: 0, is_new, reply: PendingReply::pair().1 })
    }

    async fn stop(&self, _session: &SessionId, _turn: Option<&TurnId>) -> usize {
        1
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        Vec::new()
    }

    fn is_busy(&self, _session: &SessionId) -> bool {
        false
    }

    async fn clear(&self, _session: &SessionId, _how: Clear) -> Result<bool> {
        Ok(true)
    }

    async fn post(&self, _session: &SessionId, _key: &str, _posting: &Posting) -> Result<bool> {
        Ok(true)
    }
}

/// What the channel says of its own accord.
#[derive(Default)]
pub(crate) struct Words(pub(crate) Mutex<Vec<(String, String)>>);

#[async_trait]
impl Courier for Words {
    fn channels(&self) -> Vec<String> {
        Vec::new()
    }

    async fn send(&self, _session: &SessionId, _turn: &TurnId, content: NewDelivery) -> Result<()> {
        self.0.lock().unwrap().push((content.recipient.unwrap_or_default(), content.text));
        Ok(())
    }
}

/// What a channel needs, and what outlives it.
pub(crate) struct Ground {
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) words: Arc<Words>,
    pub(crate) desk: PendingApprovals,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(NOW).unwrap()));
        Self {
            records: Arc::new(MemoryStore::new(clock.clone())),
            clock,
            notes: Arc::default(),
            words: Arc::default(),
            desk: PendingApprovals::default(),
        }
    }

    pub(crate) fn rules(&self, channel: &'static str, allowed: &[&str]) -> Rules {
        Rules {
            channel,
            allowed: allowed.iter().map(|&id| id.to_owned()).collect(),
            owners: None,
            groups: Groups::Mention,
            pairing: Pairing::Invite,
            strangers: Strangers::Silence,
            streams: true,
            home: None,
            max_file_bytes: 1 << 20,
            stale_after: Duration::from_secs(3600),
        }
    }

    pub(crate) fn around(&self) -> Surroundings {
        Surroundings {
            records: self.records.clone(),
            desk: self.desk.clone(),
            courier: self.words.clone(),
            clock: self.clock.clone(),
        }
    }

    /// Starts a channel.
    pub(crate) fn start(&self, channel: &Arc<Messenger>) -> Running {
        let (trigger, shutdown): (ShutdownTrigger, Shutdown) = ShutdownTrigger::pair();
        let (channel, notes) = (channel.clone(), self.notes.clone());
        Running { trigger, task: tokio::spawn(async move { channel.run(notes, shutdown).await }) }
    }

    /// A question that the turn of the last message brings about.
    pub(crate) fn question(&self, session: &str, channel: &str) -> ApprovalRequest {
        let now = aethon_core::clock::Clock::now(&*self.clock);
        ApprovalRequest {
            id: "q1".into(),
            tool: "shell".into(),
            input: json!({"command": "ls & <!channel> ```"}),
            summary: "run: ls".into(),
            preview: None,
            reason: String::new(),
            session_scope: String::new(),
            session_id: SessionId::of(channel, session).unwrap(),
            turn: TurnId::existing("t"),
            created_at: now,
            expires_at: now,
        }
    }
}

/// A channel that runs.
pub(crate) struct Running {
    trigger: ShutdownTrigger,
    task: JoinHandle<Result<()>>,
}

impl Running {
    /// The program stops.
    pub(crate) async fn stop(self) {
        self.trigger.trigger();
        self.task.await.unwrap().unwrap();
    }

    /// The channel ends by itself.
    pub(crate) async fn ended(self) {
        self.task.await.unwrap().unwrap();
    }

    /// The program is killed.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

pub(crate) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Waits in the time of the test until there is something to see.
pub(crate) async fn eventually(what: &str, look: impl Fn() -> bool) {
    for _ in 0..3000 {
        if look() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("waited in vain until {what}");
}

pub(crate) fn delivery(channel: &str, recipient: &str, text: &str) -> Delivery {
    let content = NewDelivery::new(channel, text, Timestamp::MAX).with_recipient(Some(recipient.into()));
    Delivery::new(1, SessionId::of(channel, recipient).unwrap(), TurnId::fresh(), content.as_reply(true))
}

/// The value of a header.
pub(crate) fn header<'r>(request: &'r ExchangeRequest, name: &str) -> &'r str {
    let found = request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or("", |(_, value)| value.as_str())
}

/// The parameters behind the question mark.
pub(crate) fn query(url: &str) -> BTreeMap<String, String> {
    let pairs = url.split_once('?').map_or("", |(_, query)| query).split('&');
    pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.into(), value.replace("%3A", ":")))
        .collect()
}

pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: Vec<u8>) -> ExchangeResponse {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ExchangeResponse { status, headers, body: Box::pin(stream::iter([Ok(body.into())])) }
}

pub(crate) fn answer(status: u16, body: &Value) -> ExchangeResponse {
    response(status, &[("content-type", "application/json")], body.to_string().into_bytes())
}

/// The connection broke after the request was done.
pub(crate) fn lost() -> io::Error {
    io::Error::other("the connection broke")
}
