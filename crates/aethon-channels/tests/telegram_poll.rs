//! Receiving on Telegram against a Bot API in memory that holds calls, confirms by offsets and throws out the poll that waits: two
//! programs with one token, tokens that are refused, a front that breaks down, clocks that jump, and who is let in on request.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aethon_channels::{Messenger, Rules, pairing, telegram};
use aethon_core::channel::{Channel, ChannelRecords as _, ChannelState, ChannelStatus};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse};
use aethon_core::messenger::Pairing;
use aethon_core::secret::Secret;
use async_trait::async_trait;
use common::{Flaky, NOW, TestServices, bot_answer, eventually, pass};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

const TOKEN: &str = "1:canary";

/// The response to a call: its result, or a status and a message.
type Answered = Result<Value, (u16, &'static str)>;

/// A Bot API server, as far as receiving goes.
#[derive(Default)]
struct Server(Mutex<State>, Notify);

#[derive(Default)]
struct State {
    updates: VecDeque<Value>,
    next: i64,
    /// Which poll is the newest.
    poller: u64,
    /// When the polls came.
    polls: Vec<Instant>,
    /// Calls with a token that is not the bot's.
    strangers: usize,
    /// Whether the token was taken back.
    is_revoked: bool,
    /// What reactions were set.
    reactions: Vec<Value>,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Adds a private message sent at this time by Telegram's clock. Returns its number.
    fn say(&self, person: i64, text: &str, at: i64) -> i64 {
        let message = self.state().next + 1;
        self.bring(person, text, (message, at));
        message
    }

    /// An update with this message.
    fn bring(&self, person: i64, text: &str, (message, at): (i64, i64)) {
        let mut state = self.state();
        state.next += 1;
        let update = json!({"update_id": state.next, "message": {
            "message_id": message, "date": at, "chat": {"id": person, "type": "private"},
            "from": {"id": person, "is_bot": false, "first_name": "Ada"}, "text": text,
        }});
        state.updates.push_back(update);
        drop(state);
        self.1.notify_waiters();
    }

    async fn updates(&self, params: &Value) -> Answered {
        let offset = params["offset"].as_i64().unwrap_or(0);
        let until = Instant::now() + Duration::from_secs(params["timeout"].as_u64().unwrap_or(0).min(50));
        let own = {
            let mut state = self.state();
            state.poller += 1;
            state.polls.push(Instant::now());
            if offset < 0 {
                state.updates.clear();
            }
            state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
            state.poller
        };
        // A new poll ends the one that is waiting.
        self.1.notify_waiters();
        loop {
            let changed = self.1.notified();
            {
                let state = self.state();
                if state.poller != own {
                    return Err((409, "Conflict: terminated by other getUpdates request"));
                }
                if state.is_revoked {
                    return Err((401, "Unauthorized"));
                }
                if !state.updates.is_empty() || Instant::now() >= until {
                    return Ok(json!(state.updates.iter().take(100).collect::<Vec<_>>()));
                }
            }
            // Over without a change is a poll that has nothing to tell.
            let _ = timeout_at(until, changed).await;
        }
    }
}

#[async_trait]
impl Exchange for Server {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let params: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let is_revoked = self.state().is_revoked;
        let done = match request.url.strip_prefix(&format!("http://bots/bot{TOKEN}/")) {
            Some(_) if is_revoked => Err((401, "Unauthorized")),
            Some("getMe") => Ok(json!({"id": 1, "is_bot": true, "first_name": "A", "username": "bot"})),
            Some("getUpdates") => self.updates(&params).await,
            Some("setMyCommands") => Ok(json!(true)),
            Some("setMessageReaction") => {
                self.state().reactions.push(params);
                Ok(json!(true))
            }
            Some(_) => Err((400, "Bad Request: of no matter here")),
            None => {
                self.state().strangers += 1;
                Err((401, "Unauthorized"))
            }
        };
        Ok(bot_answer(done))
    }
}

struct Stage {
    ground: TestServices,
    server: Arc<Server>,
    front: Arc<Flaky>,
}

impl Stage {
    fn new() -> Self {
        let server = Arc::new(Server::default());
        Self { ground: TestServices::new(), front: Flaky::before(server.clone(), |_| true), server }
    }

    fn channel(&self, token: &str, pairing: Pairing) -> Arc<Messenger> {
        let options = telegram::Options {
            api_base: "http://bots".into(),
            token: Secret::new(token),
            drafts: false,
            rich: false,
            messages_a_second: 30,
            exchange: self.front.clone(),
            polling: self.front.clone(),
        };
        let rules = Rules { pairing, acknowledges: true, ..self.ground.rules("telegram", &["7"]) };
        Arc::new(telegram::channel(options, rules, self.ground.services()))
    }

    /// Starts a channel and waits until it has fetched the pending updates.
    async fn running(&self) -> (Arc<Messenger>, common::Running) {
        let messenger = self.channel(TOKEN, Pairing::Invite);
        let running = self.ground.start(&messenger);
        eventually("it is signed in", || status(&messenger).state == ChannelState::Running).await;
        // The first polls only go through the history.
        eventually("it polls", || self.server.state().polls.len() > 1).await;
        (messenger, running)
    }

    fn texts(&self) -> Vec<String> {
        self.ground.assistant.texts()
    }
}

fn status(messenger: &Messenger) -> ChannelStatus {
    messenger.status().unwrap()
}

#[tokio::test(start_paused = true)]
async fn rival_poller_is_reported_and_the_channel_recovers_after_it() {
    let stage = Stage::new();
    let (messenger, running) = stage.running().await;
    let server = stage.server.clone();
    let rival = tokio::spawn(async move {
        loop {
            // It is thrown out as well, and comes back.
            let _ = server.updates(&json!({"timeout": 50})).await;
            pass(1).await;
        }
    });
    eventually("it is told", || status(&messenger).state == ChannelState::Degraded).await;
    let detail = status(&messenger).detail;
    assert!(detail.contains("409") && detail.contains("another program polls with this token"), "{detail}");
    stage.server.say(7, "meanwhile", NOW);
    pass(60).await;
    rival.abort();
    pass(10).await;
    assert_eq!(status(&messenger).state, ChannelState::Running, "{:?}", status(&messenger));
    stage.server.say(7, "afterwards", NOW);
    pass(60).await;
    assert_eq!(stage.texts(), ["meanwhile", "afterwards"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn first_start_answers_new_messages_but_no_history() {
    let stage = Stage::new();
    // More than one poll brings, and some while the program signs in.
    for number in 0..150 {
        stage.server.say(7, &format!("history {number}"), NOW - 3_600);
    }
    stage.server.say(7, "while it starts", NOW);
    stage.server.say(7, "just before, by another clock", NOW - 3);
    let messenger = stage.channel(TOKEN, Pairing::Invite);
    // The first life ends before its first poll is through.
    let running = stage.ground.start(&messenger);
    eventually("it polls", || !stage.server.state().polls.is_empty()).await;
    running.stop().await;
    let (_messenger, running) = stage.running().await;
    stage.server.say(7, "afterwards", NOW);
    pass(60).await;
    assert_eq!(stage.texts(), ["while it starts", "just before, by another clock", "afterwards"]);
    running.stop().await;
    // An old message that comes later is one that waited.
    let (_messenger, running) = stage.running().await;
    stage.server.say(7, "delayed", NOW - 3_600);
    pass(60).await;
    assert_eq!(stage.texts().last().unwrap(), "delayed");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn end_of_a_conflict_is_noticed_without_a_new_message() {
    let stage = Stage::new();
    let (messenger, running) = stage.running().await;
    // One poll of another program, which then goes away.
    let _ = stage.server.updates(&json!({"timeout": 0})).await;
    eventually("it is told", || status(&messenger).state == ChannelState::Degraded).await;
    pass(10).await;
    assert_eq!(status(&messenger).state, ChannelState::Running, "{:?}", status(&messenger));
    let before = stage.server.state().polls.len();
    pass(200).await;
    let polls = stage.server.state().polls.len() - before;
    assert!(polls <= 5, "each call waits for news again: {polls}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn wrong_token_is_reported_and_asked_about_at_growing_intervals() {
    let stage = Stage::new();
    let messenger = stage.channel("1:wrong", Pairing::Invite);
    let running = stage.ground.start(&messenger);
    pass(86_400).await;
    let told = status(&messenger);
    // At once, after five seconds, one minute, five minutes, and then twice an hour.
    let asked = stage.server.state().strangers;
    assert!(told.state == ChannelState::Degraded && (48..=53).contains(&asked), "{told:?} {asked}");
    running.stop().await;
    assert!(told.detail.contains("channels.telegram.token") && !told.detail.contains("wrong"), "{told:?}");
    // One that is taken back while the channel runs.
    let (messenger, running) = stage.running().await;
    stage.server.state().is_revoked = true;
    stage.server.1.notify_waiters();
    eventually("it is told", || status(&messenger).state == ChannelState::Degraded).await;
    let polls = stage.server.state().polls.len();
    pass(86_400).await;
    assert_eq!(stage.server.state().polls.len(), polls, "it polls only when the token is known again");
    assert!(status(&messenger).detail.contains("channels.telegram.token"), "{:?}", status(&messenger));
    assert!(stage.ground.courier.texts().is_empty());
    // And given back.
    stage.server.state().is_revoked = false;
    stage.server.say(7, "meanwhile", NOW);
    pass(1_801).await;
    assert_eq!(
        (stage.texts(), status(&messenger).state),
        (vec!["meanwhile".to_owned()], ChannelState::Running)
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn spurious_refusal_costs_seconds() {
    for refusal in [401, 403, 404] {
        let stage = Stage::new();
        let (messenger, running) = stage.running().await;
        // The poll that waits and the next: two programs of one server do not agree.
        stage.front.fail(refusal, false);
        stage.server.say(7, "first", NOW);
        pass(1).await;
        stage.server.say(7, "second", NOW);
        pass(20).await;
        assert_eq!(stage.texts(), ["first", "second"], "{refusal}");
        assert_eq!(status(&messenger).state, ChannelState::Running, "{refusal}");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_and_duplicates_no_incoming_message() {
    let stage = Stage::new();
    stage.front.fail(503, false);
    let (messenger, running) = stage.running().await;
    let mut said = Vec::new();
    for status in [500, 502, 503] {
        for is_done in [false, true] {
            // The call that waits now and the next.
            stage.front.fail(status, is_done);
            stage.front.fail(status, is_done);
            said.push(format!("{status} {is_done}"));
            stage.server.say(7, said.last().unwrap(), NOW);
            pass(120).await;
        }
    }
    assert_eq!(stage.texts(), said);
    assert_eq!(status(&messenger).state, ChannelState::Running);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn albums_and_edits_reach_the_turns_they_belong_to() {
    let stage = Stage::new();
    let (_, running) = stage.running().await;
    let bring = |kind: &str, message: i64, fields: Value| {
        let mut state = stage.server.state();
        state.next += 1;
        let mut whole = json!({
            "message_id": message, "date": NOW, "chat": {"id": 7, "type": "private"},
            "from": {"id": 7, "is_bot": false, "first_name": "Ada"},
        });
        for (key, value) in fields.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let update = json!({"update_id": state.next, kind: whole});
        state.updates.push_back(update);
        drop(state);
        stage.server.1.notify_waiters();
    };
    // Their files are too large to be taken, which the reply mentions once.
    let large =
        || json!({"file_id": "f", "file_name": "a.txt", "mime_type": "text/plain", "file_size": 2 << 20});
    bring("message", 101, json!({"media_group_id": "g", "document": large(), "caption": "compare"}));
    bring("message", 102, json!({"media_group_id": "g", "document": large()}));
    pass(10).await;
    assert_eq!(stage.texts(), ["compare"]);
    let told = stage.ground.records.list("telegram", "terms:", 9).await.unwrap();
    assert!(told.len() == 1 && told[0].1.contains("`a.txt`, `a.txt` are larger"), "{told:?}");
    // An edit, and one that changes nothing.
    bring("message", 103, json!({"text": "old", "date": NOW + 20}));
    bring("edited_message", 103, json!({"text": "new", "date": NOW + 20, "edit_date": NOW + 21}));
    pass(10).await;
    bring("edited_message", 103, json!({"text": "new", "date": NOW + 20, "edit_date": NOW + 22}));
    bring("message", 104, json!({"text": "next", "date": NOW + 40}));
    pass(10).await;
    running.stop().await;
    assert_eq!(stage.texts(), ["compare", "new", "next"]);
}

#[tokio::test(start_paused = true)]
async fn clock_jump_neither_loses_nor_duplicates_messages() {
    let stage = Stage::new();
    let (_messenger, running) = stage.running().await;
    let first = stage.server.say(7, "one", NOW);
    pass(5).await;
    // Our clock is set a day and a half ahead: new messages look old, which is reported, not ignored.
    stage.ground.clock.advance(SignedDuration::from_hours(36));
    let late = stage.server.say(7, "two", NOW + 5);
    for _ in 0..2 {
        stage.server.bring(7, "two", (late, NOW + 5));
    }
    pass(5).await;
    assert_eq!(stage.texts(), ["one"]);
    let told = stage.ground.courier.texts();
    assert!(told.len() == 1 && told[0].contains("too old"), "{told:?}");
    // It is set back too far: new messages seem to be from the future and are answered, once.
    stage.ground.clock.advance(SignedDuration::from_hours(-72));
    stage.server.bring(7, "one", (first, NOW));
    let third = stage.server.say(7, "three", NOW + 10);
    stage.server.bring(7, "three", (third, NOW + 10));
    stage.server.bring(7, "/help", (third + 10, NOW + 11));
    stage.server.bring(7, "/help", (third + 10, NOW + 11));
    pass(5).await;
    // And right again.
    stage.ground.clock.advance(SignedDuration::from_hours(36));
    stage.server.bring(7, "three", (third, NOW + 10));
    stage.server.bring(7, "/help", (third + 10, NOW + 11));
    stage.server.say(7, "four", NOW + 20);
    pass(60).await;
    running.stop().await;
    assert_eq!(stage.texts(), ["one", "three", "four"]);
    assert_eq!(stage.ground.courier.texts().len(), 2, "{:?}", stage.ground.courier.texts());
}

#[tokio::test(start_paused = true)]
async fn access_request_is_granted_by_the_owner() {
    let stage = Stage::new();
    let messenger = stage.channel(TOKEN, Pairing::Request);
    let running = stage.ground.start(&messenger);
    eventually("it polls", || stage.server.state().polls.len() > 1).await;
    for text in ["hello", "/start", "anybody there?"] {
        stage.server.say(8, text, NOW);
    }
    pass(5).await;
    let told = stage.ground.courier.texts();
    assert!(told.len() == 1 && told[0].contains("give this code to the owner"), "{told:?}");
    assert!(stage.texts().is_empty());
    let code = told[0].split('`').nth(1).unwrap().to_owned();
    // The requester cannot grant themselves access with it.
    stage.server.say(8, &format!("/pair {code}"), NOW);
    stage.server.say(8, &format!("approve {code}"), NOW);
    pass(5).await;
    stage.server.say(8, "hello?", NOW);
    pass(5).await;
    assert!(stage.texts().is_empty() && stage.ground.courier.texts().len() == 1);
    let records = &*stage.ground.records;
    let paired = pairing::approve(records, "telegram", &code.to_lowercase()).await.unwrap();
    assert_eq!(paired.as_deref(), Some("8"));
    stage.server.say(8, "hello again", NOW);
    pass(5).await;
    assert_eq!(stage.texts(), ["hello again"]);
    assert_eq!(pairing::approve(records, "telegram", &code).await.unwrap(), None, "once");
    assert!(pairing::revoke(records, "telegram", "8").await.unwrap());
    stage.server.say(8, "still here?", NOW);
    pass(5).await;
    assert_eq!(stage.texts(), ["hello again"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acknowledged_while_it_is_answered() {
    let stage = Stage::new();
    let running = stage.ground.start(&stage.channel(TOKEN, Pairing::Off));
    pass(5).await;
    let message = stage.server.say(7, "hi", NOW);
    eventually("it is acknowledged", || stage.server.state().reactions.len() == 1).await;
    common::finish(&stage.ground);
    eventually("that is taken back", || stage.server.state().reactions.len() == 2).await;
    running.stop().await;
    let eyes = json!([{"type": "emoji", "emoji": "\u{1f440}"}]);
    let set = |reaction: Value| json!({"chat_id": 7, "message_id": message, "reaction": reaction});
    assert_eq!(stage.server.state().reactions, [set(eyes), set(json!([]))]);
}
