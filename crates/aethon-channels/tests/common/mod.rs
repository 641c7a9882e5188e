//! Shared by the tests of several platforms: an assistant that records its input, the rules and the memory of a channel,
//! and sockets without a network.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_channels::{ChannelServices, Messenger, Rules, pairing};
use aethon_core::approval::{ApprovalRequest, PendingApprovals};
use aethon_core::channel::{Channel, ChannelState, Delivery, NewDelivery};
use aethon_core::error::Result;
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Inbound, Reply, TurnEnd};
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{
    CollectingAssistant, CollectingCourier, CollectingTranscriber, ManualClock, MemoryStore,
};
use aethon_core::transcribe::{Speech, Transcriber};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// When the tests take place, in seconds.
pub(crate) const NOW: i64 = 1_800_000_000;

/// The owner's settings, unless a test changes them.
pub(crate) fn rules(channel: &'static str) -> Rules {
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

/// The services of a channel, which outlive it.
pub(crate) struct TestServices {
    pub(crate) records: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) assistant: Arc<CollectingAssistant>,
    pub(crate) courier: Arc<CollectingCourier>,
    pub(crate) approvals: PendingApprovals,
    /// Transcribes voice messages, if set.
    pub(crate) transcriber: Option<Arc<CollectingTranscriber>>,
}

impl TestServices {
    /// Creates one that transcribes voice messages.
    pub(crate) fn hearing() -> Self {
        Self { transcriber: Some(Arc::default()), ..Self::new() }
    }

    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_second(NOW).unwrap()));
        Self {
            records: Arc::new(MemoryStore::new(clock.clone())),
            clock,
            assistant: Arc::default(),
            courier: Arc::default(),
            approvals: PendingApprovals::default(),
            transcriber: None,
        }
    }

    pub(crate) fn rules(&self, channel: &'static str, allowed: &[&str]) -> Rules {
        Rules { allowed: Live::new(allowed.iter().map(|&id| id.to_owned()).collect()), ..rules(channel) }
    }

    pub(crate) fn services(&self) -> ChannelServices {
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

    /// The recordings that were listened to: words, media type and length.
    pub(crate) fn heard(&self) -> Vec<(String, String, Option<u64>)> {
        let heard = self.transcriber.as_ref().unwrap().heard().into_iter();
        let told = |speech: Speech| (String::from_utf8(speech.bytes).unwrap(), speech.mime, speech.seconds);
        heard.map(told).collect()
    }

    /// The messages that were handed to the outbox.
    pub(crate) fn said(&self) -> Vec<String> {
        self.courier.texts()
    }

    /// The deliveries that came back, with their reasons.
    pub(crate) fn returned(&self) -> Vec<(i64, String)> {
        self.courier.returned_deliveries()
    }

    pub(crate) async fn invite(&self, channel: &str) -> String {
        pairing::invite(&*self.records, &*self.clock, channel).await.unwrap().code
    }

    /// Starts a channel.
    pub(crate) fn start(&self, channel: &Arc<Messenger>) -> Running {
        let (trigger, shutdown): (ShutdownTrigger, Shutdown) = ShutdownTrigger::pair();
        let (channel, assistant) = (channel.clone(), self.assistant.clone());
        Running { trigger, task: tokio::spawn(async move { channel.run(assistant, shutdown).await }) }
    }

    /// A question that the turn of the last message brings about.
    pub(crate) fn question(&self, session: &str, channel: &str) -> ApprovalRequest {
        let now = aethon_core::clock::Clock::now(&*self.clock);
        ApprovalRequest {
            id: "q1".into(),
            tool: "shell".into(),
            input: json!({"command": HIDING}),
            summary: format!("run: {HIDING}"),
            preview: None,
            reason: "it is \u{2067}odd".into(),
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

    /// The channel is refused, which is shown, and lives on.
    pub(crate) async fn refused(self, channel: &Messenger) {
        let is_shown = || channel.status().unwrap().state == ChannelState::Degraded;
        eventually("the refusal is shown", is_shown).await;
        assert!(!self.task.is_finished(), "it asks again later");
        self.stop().await;
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

/// Runs a channel until it shows that it was refused.
pub(crate) async fn refused(channel: &Messenger, assistant: Arc<CollectingAssistant>) {
    let (_trigger, shutdown) = ShutdownTrigger::pair();
    let is_shown = || channel.status().unwrap().state == ChannelState::Degraded;
    tokio::select! {
        _ = channel.run(assistant, shutdown) => panic!("it asks again later"),
        () = eventually("the refusal is shown", is_shown) => {}
    }
}

/// Waits for something that takes no longer than a minute.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), wait).await;
    done.unwrap_or_else(|_| panic!("not within a minute: {what}"))
}

/// Waits until this is so, for at most a minute. For tests whose time is that of the machine.
pub(crate) async fn soon(what: &str, is_so: impl Fn() -> bool) {
    within(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Waits in the time of the test, which may stand still, until there is something to see.
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

/// The outcome of a turn.
pub(crate) fn reply() -> Reply {
    Reply {
        turn: TurnId::existing("t"),
        session: SessionId::of("telegram", "7").unwrap(),
        text: "done".into(),
        end: TurnEnd::End,
        model: "m".into(),
        usage: aethon_core::model::Usage::default(),
        failure: None,
    }
}

/// The turn of the last message ends.
pub(crate) fn finish(ground: &TestServices) {
    use aethon_core::assistant::Assistant as _;
    let surface = ground.assistant.surface().unwrap();
    surface.emit(&ground.assistant.activity().remove(0).turn, TurnEvent::Done(Arc::new(reply())));
}

/// Other people's words that came with a message.
pub(crate) fn quoted(inbound: &Inbound) -> Option<String> {
    let quoted = inbound.attachments.iter().filter(|file| file.is_quoted()).map(|file| {
        assert!(file.untrusted);
        String::from_utf8(STANDARD.decode(&file.data).unwrap()).unwrap()
    });
    let quoted: Vec<String> = quoted.collect();
    (!quoted.is_empty()).then(|| quoted.join("\n\n"))
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

/// What Telegram answers: the result, or a status and its description.
pub(crate) fn bot_answer<W: Into<String>>(done: Result<Value, (u16, W)>) -> ExchangeResponse {
    match done {
        Ok(result) => answer(200, &serde_json::json!({"ok": true, "result": result})),
        Err((status, words)) => {
            let words: String = words.into();
            answer(status, &serde_json::json!({"ok": false, "error_code": status, "description": words}))
        }
    }
}

/// The connection broke after the request was done.
pub(crate) fn lost() -> io::Error {
    io::Error::other("the connection broke")
}

/// A command that hides its effect from a reader and breaks out of a code block.
pub(crate) const HIDING: &str =
    "ls & <!channel> ``` \u{202e}fr- mr\u{2069} a\u{200b}b\u{a0}c </code></pre>\n\u{e0041}@all";

/// Asserts that the prompt shows every character of that command, invisible ones as their code points.
#[track_caller]
pub(crate) fn assert_shows_all(question: &str) {
    for part in
        ["‹U+202E›fr- mr‹U+2069›", "a‹U+200B›b‹U+00A0›c", "‹U+E0041›@all", "Why I ask: it is ‹U+2067›odd"]
    {
        assert!(question.contains(part), "{part} is not shown: {question}");
    }
    let hides = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}' | '\u{a0}');
    assert!(!question.contains(hides), "something hides: {question:?}");
}

/// A service behind a front that breaks down: some requests are answered with a status of the front's own, and a page, before they get
/// to the service or after it has done them.
pub(crate) struct Flaky {
    behind: Arc<dyn Exchange>,
    is_meant: fn(&ExchangeRequest) -> bool,
    faults: Mutex<VecDeque<(u16, bool)>>,
}

impl Flaky {
    /// One before this service, for the requests that are meant.
    pub(crate) fn before(behind: Arc<dyn Exchange>, is_meant: fn(&ExchangeRequest) -> bool) -> Arc<Self> {
        Arc::new(Self { behind, is_meant, faults: Mutex::default() })
    }

    /// The next request is answered like this, though it may be done.
    pub(crate) fn fail(&self, status: u16, is_done: bool) {
        self.faults.lock().unwrap().push_back((status, is_done));
    }

    /// Whether every fault has come about.
    pub(crate) fn is_over(&self) -> bool {
        self.faults.lock().unwrap().is_empty()
    }
}

#[async_trait]
impl Exchange for Flaky {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let is_meant = (self.is_meant)(&request);
        let fault = self.faults.lock().unwrap().pop_front_if(|_| is_meant);
        let Some((status, is_done)) = fault else { return self.behind.send(request).await };
        if is_done {
            drop(self.behind.send(request).await?);
        }
        Ok(response(status, &[("content-type", "text/html")], b"<html>of the front</html>".to_vec()))
    }
}

/// The faults of a front: each status, before and after a request was done.
pub(crate) const BREAKDOWNS: [(u16, bool); 6] =
    [(500, false), (502, false), (503, false), (500, true), (502, true), (503, true)];

/// Delivers, as often as it takes and the outbox would try.
pub(crate) async fn deliver(messenger: &Messenger, delivery: &Delivery) {
    for _ in 0..6 {
        match messenger.send(delivery).await {
            Ok(()) => return,
            Err(error) => {
                assert!(error.retryable, "{error:?}");
                tokio::time::sleep(error.retry_after.unwrap_or(Duration::from_secs(5))).await;
            }
        }
    }
    panic!("it was not delivered");
}
