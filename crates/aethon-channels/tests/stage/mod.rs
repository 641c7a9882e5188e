//! The services of a channel in these tests: a recording assistant, a storage in memory, a readable outbox.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aethon_channels::{ChannelServices, Rules, pairing};
use aethon_core::approval::{ApprovalRequest, PendingApprovals};
use aethon_core::clock::Clock as _;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};
use aethon_core::testkit::{
    CollectingAssistant, CollectingCourier, CollectingTranscriber, ManualClock, MemoryStore,
};
use aethon_core::transcribe::Transcriber;
use jiff::Timestamp;
use serde_json::json;

/// When these tests play.
pub const NOW: i64 = 1_800_000_000;

/// The owner's settings, unless a test changes them.
pub fn rules(channel: &'static str) -> Rules {
    Rules {
        channel,
        allowed: Live::default(),
        owners: None,
        people: None,
        groups: GroupMode::Mention,
        pairing: Pairing::Invite,
        strangers: UnknownSenderPolicy::Silence,
        streams: true,
        home: None,
        max_file_bytes: 1 << 20,
        stale_after: Duration::from_secs(3600),
        marks_others: true,
        acknowledges: false,
    }
}

/// All of it.
pub struct Stage {
    pub records: Arc<MemoryStore>,
    pub clock: Arc<ManualClock>,
    pub assistant: Arc<CollectingAssistant>,
    pub approvals: PendingApprovals,
    courier: Arc<CollectingCourier>,
    /// Transcribes voice messages, if set.
    pub transcriber: Option<Arc<CollectingTranscriber>>,
}

impl Stage {
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(NOW).unwrap()));
        let records = Arc::new(MemoryStore::new(clock.clone()));
        Self {
            records,
            clock,
            assistant: Arc::default(),
            approvals: PendingApprovals::default(),
            courier: Arc::default(),
            transcriber: None,
        }
    }

    pub fn services(&self) -> ChannelServices {
        ChannelServices {
            records: self.records.clone(),
            audit: Arc::new(aethon_core::audit::NoAudit),
            approvals: self.approvals.clone(),
            courier: self.courier.clone(),
            programs: Arc::new(aethon_core::program::NoPrograms),
            transcriber: self.transcriber.clone().map(|transcriber| -> Arc<dyn Transcriber> { transcriber }),
            clock: self.clock.clone(),
        }
    }

    pub fn said(&self) -> Vec<String> {
        self.courier.texts()
    }

    pub fn returned(&self) -> Vec<(i64, String)> {
        self.courier.returned_deliveries()
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

/// Runs a channel until it shows that it was refused.
pub async fn refused(channel: &aethon_channels::Messenger, assistant: Arc<CollectingAssistant>) {
    use aethon_core::channel::{Channel as _, ChannelState};
    let (_trigger, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
    let is_shown = || channel.status().unwrap().state == ChannelState::Degraded;
    tokio::select! {
        _ = channel.run(assistant, shutdown) => panic!("it asks again later"),
        () = eventually("the refusal is shown", is_shown) => {}
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

/// A command that hides its effect from a reader and breaks out of a code block.
pub const HIDING: &str =
    "ls & <!channel> ``` \u{202e}fr- mr\u{2069} a\u{200b}b\u{a0}c </code></pre>\n\u{e0041}@all";

/// Asserts that the prompt shows every character of that command, invisible ones as their code points.
#[track_caller]
pub fn assert_shows_all(question: &str) {
    for part in
        ["‹U+202E›fr- mr‹U+2069›", "a‹U+200B›b‹U+00A0›c", "‹U+E0041›@all", "Why I ask: it is ‹U+2067›odd"]
    {
        assert!(question.contains(part), "{part} is not shown: {question}");
    }
    let hides = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}' | '\u{a0}');
    assert!(!question.contains(hides), "something hides: {question:?}");
}
