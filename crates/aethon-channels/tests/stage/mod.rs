//! What a channel is given in these tests: an assistant that takes notes, a storage in memory, a way out that is read.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_channels::{Groups, Pairing, Rules, Strangers, Surroundings, pairing};
use aethon_core::approval::{ApprovalRequest, PendingApprovals};
use aethon_core::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use aethon_core::channel::{Courier, NewDelivery};
use aethon_core::clock::Clock as _;
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Inbound;
use aethon_core::session::Clear;
use aethon_core::surface::Surface;
use aethon_core::testkit::{ManualClock, MemoryStore};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::json;

/// When these tests play.
pub const NOW: i64 = 1_800_000_000;

/// What the owner has set, as long as a test does not say otherwise.
pub fn rules(channel: &'static str) -> Rules {
    Rules {
        channel,
        allowed: Vec::new(),
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

/// An assistant that takes notes.
#[derive(Default)]
pub struct Notes(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    inbound: Vec<Inbound>,
    surface: Option<Arc<dyn Surface>>,
    refusals: u32,
}

impl Notes {
    pub fn count(&self) -> usize {
        self.0.lock().unwrap().inbound.len()
    }

    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().inbound.iter().map(|inbound| inbound.text.clone()).collect()
    }

    pub fn dedupe_ids(&self) -> Vec<String> {
        let noted = self.0.lock().unwrap();
        noted.inbound.iter().map(|inbound| inbound.dedupe.clone().unwrap().id).collect()
    }

    pub fn first(&self) -> Inbound {
        self.0.lock().unwrap().inbound.first().unwrap().clone()
    }

    pub fn last(&self) -> Inbound {
        self.0.lock().unwrap().inbound.last().unwrap().clone()
    }

    /// The surface of the last message.
    pub fn surface(&self) -> Arc<dyn Surface> {
        self.0.lock().unwrap().surface.clone().unwrap()
    }

    /// The next messages are not taken.
    pub fn refuse(&self, count: u32) {
        self.0.lock().unwrap().refusals = count;
    }
}

#[async_trait]
impl Assistant for Notes {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        let mut noted = self.0.lock().unwrap();
        if noted.refusals > 0 {
            noted.refusals -= 1;
            return Err(Error::internal("the queue is full"));
        }
        noted.inbound.push(inbound);
        noted.surface = Some(surface);
        Ok(Submitted { turn: TurnId::fresh(), queued: 0, is_new: true, reply: PendingReply::pair().1 })
    }

    async fn stop(&self, _session: &SessionId, _turn: Option<&TurnId>) -> usize {
        0
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

/// What the program says itself, and what has come back.
#[derive(Default)]
pub struct Said {
    texts: Mutex<Vec<String>>,
    returned: Mutex<Vec<(i64, String)>>,
}

#[async_trait]
impl Courier for Said {
    fn channels(&self) -> Vec<String> {
        Vec::new()
    }

    async fn send(&self, _session: &SessionId, _turn: &TurnId, content: NewDelivery) -> Result<()> {
        self.texts.lock().unwrap().push(content.text);
        Ok(())
    }

    async fn returned(&self, delivery: i64, error: &str) -> Result<()> {
        self.returned.lock().unwrap().push((delivery, error.to_owned()));
        Ok(())
    }
}

/// All of it.
pub struct Stage {
    pub records: Arc<MemoryStore>,
    pub clock: Arc<ManualClock>,
    pub notes: Arc<Notes>,
    pub desk: PendingApprovals,
    said: Arc<Said>,
}

impl Stage {
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(NOW).unwrap()));
        let records = Arc::new(MemoryStore::new(clock.clone()));
        Self {
            records,
            clock,
            notes: Arc::default(),
            desk: PendingApprovals::default(),
            said: Arc::default(),
        }
    }

    pub fn around(&self) -> Surroundings {
        Surroundings {
            records: self.records.clone(),
            desk: self.desk.clone(),
            courier: self.said.clone(),
            clock: self.clock.clone(),
        }
    }

    pub fn said(&self) -> Vec<String> {
        self.said.texts.lock().unwrap().clone()
    }

    pub fn returned(&self) -> Vec<(i64, String)> {
        self.said.returned.lock().unwrap().clone()
    }

    pub async fn invite(&self, channel: &str) -> String {
        pairing::invite(&*self.records, &*self.clock, channel).await.unwrap().code
    }

    /// A question for approval in this session.
    pub fn question(&self, session: &str) -> ApprovalRequest {
        let now = self.clock.now();
        ApprovalRequest {
            id: "q1".into(),
            tool: "shell".into(),
            input: json!({"command": "ls"}),
            summary: "run: ls".into(),
            preview: None,
            reason: String::new(),
            session_scope: String::new(),
            session_id: SessionId::parse(session).unwrap(),
            turn: TurnId::existing("t"),
            created_at: now,
            expires_at: now,
        }
    }
}

/// Waits until this is so. What would take longer than a minute is not going to be.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    within(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Waits for something that takes no longer than a minute.
pub async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let Ok(done) = tokio::time::timeout(Duration::from_secs(60), wait).await else {
        panic!("not so: {what}")
    };
    done
}
