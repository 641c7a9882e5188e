//! The Matrix channel against a homeserver in memory that keeps to the protocol: long polling from a place, gaps, transaction
//! ids, invitations, rate limits, tokens.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(
    unreachable_pub,
    dead_code,
    reason = "these modules are shared, and each program of tests uses a part"
)]

mod common;
#[path = "matrix/groups.rs"]
mod groups;
#[path = "matrix/rooms.rs"]
mod rooms;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_channels::{Messenger, Rules, matrix, pairing};
use aethon_core::channel::{Channel, ChannelRecords as _, ChannelState, Delivery, NewDelivery};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::messenger::Pairing;
use aethon_core::secret::Secret;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::TurnEvent;
use async_trait::async_trait;
use common::{BREAKDOWNS, Flaky, TestServices, assert_shows_all, rules};
use futures_util::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

const TOKEN: &str = "syt_canary";
const US: &str = "@bot:hs";
const ROOM: &str = "!r:hs";

/// A homeserver.
#[derive(Default)]
struct Homeserver {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// All events of the room; a position is the number of events before it.
    events: Vec<Value>,
    invites: Vec<(String, String)>,
    joined: Vec<String>,
    left: Vec<String>,
    /// How often a single event was requested.
    looked_up: usize,
    sent: BTreeMap<String, Value>,
    order: Vec<String>,
    refusals: u32,
    /// Answers that get lost after the request was done.
    losses: u32,
    members: usize,
    /// Reactions that were added or removed.
    reactions: Vec<String>,
    /// The upgrade as the two rooms describe it.
    upgrade: Upgrade,
}

/// A room that is replaced by another one.
#[derive(Default)]
struct Upgrade {
    /// The current tombstone of the old room.
    tombstone: Option<Value>,
    /// Who created the new room, and the room that it names as its predecessor.
    created: Option<(String, String)>,
    /// Whether the new room lets us in.
    is_open: bool,
    /// Whether the server of the new room does not answer.
    is_down: bool,
    /// Messages in the new room.
    sent: Vec<Value>,
}

const NEW: &str = "!new:hs";

impl Homeserver {
    /// Answers requests about the upgrade of the two rooms.
    fn upgrade(&self, method: Method, path: &str, body: &[u8]) -> Option<(u16, Value)> {
        let mut state = self.state.lock().unwrap();
        let upgrade = &mut state.upgrade;
        let none = || (404, json!({"errcode": "M_NOT_FOUND"}));
        let path = path.strip_prefix("/_matrix/client/v3/")?.replace("%21", "!").replace("%3A", ":");
        Some(match (method, path.as_str()) {
            (Method::Get, "rooms/!r:hs/state/m.room.tombstone") => {
                upgrade.tombstone.clone().map_or_else(none, |content| (200, content))
            }
            (Method::Get, "rooms/!r:hs/state/m.room.power_levels") => {
                (200, json!({"users": {"@ada:hs": 100}, "state_default": 50}))
            }
            (Method::Get, "rooms/!new:hs/state/m.room.create/") => match &upgrade.created {
                Some((creator, of)) => {
                    (200, json!({"sender": creator, "content": {"predecessor": {"room_id": of}}}))
                }
                None => none(),
            },
            (Method::Get, "rooms/!new:hs/event/%24began-there") => (200, json!({})),
            (Method::Get, path) if path.starts_with("rooms/!new:hs/event/") => none(),
            (Method::Post, "join/!new:hs") if upgrade.is_down => (502, json!({"errcode": "M_UNKNOWN"})),
            (Method::Post, "join/!new:hs") if upgrade.is_open => (200, json!({"room_id": NEW})),
            (Method::Post, "join/!new:hs") => (403, json!({"errcode": "M_FORBIDDEN"})),
            (Method::Put, path) if path.starts_with("rooms/!new:hs/send/") => {
                let event = format!("${}", path.rsplit('/').next().unwrap());
                upgrade.sent.push(serde_json::from_slice(body).unwrap());
                (200, json!({"event_id": event}))
            }
            _ => return None,
        })
    }

    fn say(&self, sender: &str, body: &str) {
        self.put_event(sender, json!({"msgtype": "m.text", "body": body}));
    }

    /// Adds a reply to a message, as sent by clients that add no mention.
    fn answer(&self, sender: &str, to: &str, body: &str, more: Value) {
        let mut relation = json!({"m.in_reply_to": {"event_id": to}});
        for (key, value) in more.as_object().unwrap() {
            relation[key] = value.clone();
        }
        self.put_event(sender, json!({"msgtype": "m.text", "body": body, "m.relates_to": relation}));
    }

    fn put_event(&self, sender: &str, content: Value) {
        let mut state = self.state.lock().unwrap();
        let id = state.events.len();
        state.events.push(json!({
            "type": "m.room.message", "event_id": format!("${id}"), "sender": sender,
            "origin_server_ts": 1_800_000_000_000i64, "content": content,
        }));
        drop(state);
        self.changed.notify_waiters();
    }

    fn invite(&self, room: &str, inviter: &str) {
        self.state.lock().unwrap().invites.push((room.into(), inviter.into()));
        self.changed.notify_waiters();
    }

    fn event(&self, id: &str) -> (u16, Value) {
        let mut state = self.state.lock().unwrap();
        state.looked_up += 1;
        let id = id.replace("%24", "$");
        let found = state.events.iter().find(|event| event["event_id"] == *id).cloned();
        found.map_or((404, json!({"errcode": "M_NOT_FOUND"})), |event| (200, event))
    }

    /// The messages of a thread, newest first.
    fn thread(&self, path: &str, query: &str) -> (u16, Value) {
        assert!(
            path.starts_with("/_matrix/client/v1/rooms/%21r%3Ahs/relations/") && query.contains("dir=b"),
            "{path}"
        );
        let root = path.rsplit('/').nth(1).unwrap().replace("%24", "$");
        let state = self.state.lock().unwrap();
        let is_there = |event: &&Value| {
            let relation = &event["content"]["m.relates_to"];
            relation["rel_type"] == "m.thread" && relation["event_id"] == *root
        };
        let chunk: Vec<&Value> = state.events.iter().rev().filter(is_there).take(20).collect();
        (200, json!({"chunk": chunk}))
    }

    fn sent(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        state.order.iter().map(|key| state.sent[key].clone()).collect()
    }

    async fn sync(&self, query: &str) -> Value {
        let value = |name: &str| {
            query.split('&').find_map(|pair| Some(pair.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
        };
        let since: Option<usize> = value("since").map(|since| since.trim_start_matches('s').parse().unwrap());
        if value("timeout").as_deref() != Some("0") {
            let changed = self.changed.notified();
            let is_quiet = {
                let state = self.state.lock().unwrap();
                since == Some(state.events.len()) && state.invites.is_empty()
            };
            if is_quiet {
                // As long as the server holds a request, or until something happens.
                let _ = tokio::time::timeout(Duration::from_secs(30), changed).await;
            }
        }
        let mut state = self.state.lock().unwrap();
        let all = state.events.len();
        let new = &state.events[since.unwrap_or(0)..];
        let mut join = json!({});
        if !new.is_empty() {
            // Only the last two fit; the rest is a gap.
            let shown = &new[new.len().saturating_sub(2)..];
            join[ROOM] = json!({
                "timeline": {"events": shown, "limited": new.len() > 2, "prev_batch": format!("p{}", all - shown.len())},
            });
        }
        let mut invite = json!({});
        for (room, inviter) in std::mem::take(&mut state.invites) {
            invite[room] = json!({"invite_state": {"events": [{
                "type": "m.room.member", "state_key": US, "sender": inviter, "content": {"membership": "invite"},
            }]}});
        }
        json!({"next_batch": format!("s{all}"), "rooms": {"join": join, "invite": invite}})
    }

    fn gap(&self, query: &str) -> Value {
        let number = |name: &str| {
            let found = query.split('&').find_map(|pair| pair.strip_prefix(name));
            found.unwrap().trim_start_matches(['s', 'p']).parse::<usize>().unwrap()
        };
        let (from, to) = (number("from="), number("to="));
        let state = self.state.lock().unwrap();
        let start = from.saturating_sub(2).max(to);
        let chunk: Vec<Value> = state.events[start..from].iter().rev().cloned().collect();
        if start > to { json!({"chunk": chunk, "end": format!("p{start}")}) } else { json!({"chunk": chunk}) }
    }

    fn put(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let mut state = self.state.lock().unwrap();
        if path.contains("/typing/") {
            return (200, json!({}));
        }
        if path.contains("/send/m.reaction/") {
            let content: Value = serde_json::from_slice(body).unwrap();
            let relation = &content["m.relates_to"];
            assert!(relation["rel_type"] == "m.annotation" && relation["key"] == "\u{1f440}", "{content}");
            state.reactions.push(format!("+{}", relation["event_id"].as_str().unwrap()));
            return (200, json!({"event_id": "$reaction"}));
        }
        if let Some((_, redacted)) = path.split_once("/redact/") {
            state.reactions.push(format!("-{}", redacted.split('/').next().unwrap()));
            return (200, json!({"event_id": "$redaction"}));
        }
        if state.refusals > 0 {
            state.refusals -= 1;
            return (429, json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1500}));
        }
        assert!(body.len() < 65_536 && path.contains("%21r%3Ahs/send/m.room.message/"), "{path}");
        let content: Value = serde_json::from_slice(body).unwrap();
        if let Some(html) = content["formatted_body"].as_str() {
            assert_eq!(content["format"], "org.matrix.custom.html");
            assert_eq!(html.matches('<').count(), html.matches('>').count(), "{html}");
        }
        let key = path.rsplit('/').next().unwrap().to_owned();
        if state.sent.insert(key.clone(), content).is_none() {
            state.order.push(key.clone());
        }
        (200, json!({"event_id": format!("${key}")}))
    }
}

#[async_trait]
impl Exchange for Homeserver {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let path = request.url.strip_prefix("http://hs").unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_ours = request.headers.contains(&("authorization".into(), format!("Bearer {TOKEN}")));
        if path == "/_matrix/client/v1/media/download/hs/spoken" && is_ours {
            let body = Box::pin(stream::iter([Ok(b"good morning".to_vec().into())]));
            return Ok(ExchangeResponse { status: 200, headers: Vec::new(), body });
        }
        let upgrade = self.upgrade(request.method, path, &request.body);
        let (status, answer) = match (request.method, path) {
            _ if is_ours && upgrade.is_some() => upgrade.unwrap(),
            _ if !is_ours => (401, json!({"errcode": "M_UNKNOWN_TOKEN"})),
            (Method::Get, "/_matrix/client/v3/account/whoami") => (200, json!({"user_id": US})),
            (Method::Get, "/_matrix/client/v3/sync") => (200, self.sync(query).await),
            (Method::Get, path) if path.ends_with("/messages") => (200, self.gap(query)),
            (Method::Get, path) if path.ends_with("/joined_members") => {
                let count = self.state.lock().unwrap().members;
                let joined = (0..count).map(|number| (format!("@{number}:hs"), json!({}))).collect();
                (200, json!({"joined": Value::Object(joined)}))
            }
            (Method::Get, "/_matrix/client/v3/profile/%40bot%3Ahs/displayname") => {
                (200, json!({"displayname": "Aethon Helper"}))
            }
            (Method::Get, path) if path.ends_with("/m.thread") => self.thread(path, query),
            (Method::Get, path) if path.contains("/event/") => self.event(path.rsplit('/').next().unwrap()),
            (Method::Post, path) if path.ends_with("/leave") => {
                self.state.lock().unwrap().left.push(path.to_owned());
                (200, json!({}))
            }
            (Method::Post, path) if path.ends_with("/join") => {
                self.state.lock().unwrap().joined.push(path.to_owned());
                (200, json!({}))
            }
            (Method::Put, path) => {
                let answer = self.put(path, &request.body);
                let mut state = self.state.lock().unwrap();
                if answer.0 == 200 && !path.contains("/typing/") && state.losses > 0 {
                    state.losses -= 1;
                    return Err(io::Error::other("the connection broke"));
                }
                answer
            }
            (_, path) => panic!("{path} is not of this protocol"),
        };
        let body = answer.to_string();
        let body = Box::pin(stream::iter([Ok(body.into_bytes().into())]));
        Ok(ExchangeResponse { status, headers: Vec::new(), body })
    }
}

struct Stage {
    server: Arc<Homeserver>,
    services: TestServices,
    pairing: Pairing,
    acknowledges: bool,
}

impl Stage {
    fn new() -> Self {
        let server = Arc::new(Homeserver::default());
        server.state.lock().unwrap().members = 2;
        Self { server, services: TestServices::hearing(), pairing: Pairing::Off, acknowledges: false }
    }

    fn channel(&self, token: &str) -> Arc<Messenger> {
        self.channel_through(token, self.server.clone())
    }

    fn channel_through(&self, token: &str, exchange: Arc<dyn Exchange>) -> Arc<Messenger> {
        self.channel_of(("", token), exchange)
    }

    fn channel_as(&self, user_id: &str, token: &str) -> Arc<Messenger> {
        self.channel_of((user_id, token), self.server.clone())
    }

    fn channel_of(&self, (user_id, token): (&str, &str), exchange: Arc<dyn Exchange>) -> Arc<Messenger> {
        let rules = Rules {
            allowed: Live::new(vec!["@ada:hs".into()]),
            pairing: self.pairing,
            acknowledges: self.acknowledges,
            ..rules("matrix")
        };
        let options = matrix::Options {
            api_base: "http://hs/".into(),
            user_id: user_id.into(),
            token: Secret::new(token),
            exchange: exchange.clone(),
            polling: exchange,
        };
        Arc::new(matrix::channel(options, rules, self.services.services()))
    }

    /// Runs the channel until this many messages were submitted in all.
    async fn run_until(&self, count: usize) -> Vec<String> {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let running = self.start(shutdown);
        while self.services.assistant.count() < count {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // Whether more come than were meant to.
        tokio::time::sleep(Duration::from_secs(100)).await;
        trigger.trigger();
        running.await.unwrap().unwrap();
        self.services.assistant.texts()
    }

    fn start(&self, shutdown: Shutdown) -> tokio::task::JoinHandle<Result<()>> {
        let (channel, assistant) = (self.channel(TOKEN), self.services.assistant.clone());
        tokio::spawn(async move { channel.run(assistant, shutdown).await })
    }
}

fn delivery(text: &str) -> Delivery {
    let content = NewDelivery::new("matrix", text, Timestamp::MAX).with_recipient(Some(ROOM.into()));
    Delivery::new(1, SessionId::of("matrix", ROOM).unwrap(), TurnId::fresh(), content.as_reply(true))
}

#[tokio::test(start_paused = true)]
async fn messages_arrive_in_order_despite_gaps_and_without_history() {
    let stage = Stage::new();
    stage.server.say("@ada:hs", "before the first start");
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say("@eve:hs", "obey");
    stage.server.say("@ada:hs", "one");
    tokio::time::sleep(Duration::from_secs(5)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    for text in ["two", "three", "four", "five", "six"] {
        stage.server.say("@ada:hs", text);
    }
    assert_eq!(stage.run_until(6).await, ["one", "two", "three", "four", "five", "six"]);
    let first = stage.services.assistant.first().unwrap();
    assert_eq!((first.session.as_str(), first.sender.as_str()), ("matrix:!r:hs", "@ada:hs"));
    assert_eq!(first.dedupe.unwrap().id, "$2");
    let now = stage.services.clock.now();
    assert_eq!(now, Timestamp::from_second(1_800_000_000).unwrap());
}

#[tokio::test(start_paused = true)]
async fn voice_message_arrives_as_its_transcript() {
    let stage = Stage::new();
    stage.run_until(0).await;
    stage.server.put_event(
        "@ada:hs",
        json!({
            "msgtype": "m.audio", "body": "Voice message", "url": "mxc://hs/spoken", "org.matrix.msc3245.voice": {},
            "info": {"mimetype": "audio/ogg", "size": 12, "duration": 2400},
        }),
    );
    assert_eq!(stage.run_until(1).await, ["[voice message] good morning"]);
    let heard = stage.services.transcriber.as_ref().unwrap().heard();
    assert_eq!((heard.len(), heard[0].mime.as_str(), heard[0].seconds), (1, "audio/ogg", Some(3)));
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_once_however_often_it_is_tried() {
    let stage = Stage::new();
    let channel = stage.channel(TOKEN);
    let delivery = delivery("A **bold** `reply` <b>\n\n```rust\nlet a = 1 < 2;\n```");
    stage.server.state.lock().unwrap().refusals = 1;
    let error = channel.send(&delivery).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.server.state.lock().unwrap().losses = 3;
    for _ in 0..3 {
        assert!(channel.send(&delivery).await.unwrap_err().retryable, "nobody knows whether it has arrived");
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    channel.send(&delivery).await.unwrap();
    let sent = stage.server.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0]["formatted_body"].as_str().unwrap().contains("<strong>bold</strong>"), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn approval_prompt_shows_the_whole_command() {
    let stage = Stage::new();
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say("@ada:hs", "do it");
    while stage.services.assistant.count() < 1 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let request = stage.services.question(ROOM, "matrix");
    stage.services.assistant.surface().unwrap().emit(&request.turn, TurnEvent::Approval(request.clone()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let sent = stage.server.sent();
    let all = |key: &str| sent.iter().filter_map(|event| event[key].as_str()).collect::<String>();
    assert_shows_all(&all("body"));
    let html = all("formatted_body");
    assert_shows_all(&html);
    assert!(html.contains("&lt;/code&gt;&lt;/pre&gt;") && html.matches("</pre>").count() == 1, "{html}");
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn wrong_token_is_reported_once_and_not_retried() {
    let stage = Stage::new();
    let channel = stage.channel("wrong");
    common::refused(&channel, stage.services.assistant.clone()).await;
    let status = channel.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(
        status.detail.contains("channels.matrix.token") && !status.detail.contains("wrong"),
        "{status:?}"
    );
    assert!(!channel.inspect().await[0].ok);
    assert!(stage.channel(TOKEN).inspect().await[0].ok);
    assert!(channel.check_recipient(Some("ada")).is_err() && channel.check_recipient(None).is_err());
    assert!(channel.check_recipient(Some(ROOM)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn token_of_another_account_is_refused() {
    let stage = Stage::new();
    let channel = stage.channel_as("@somebody:hs", TOKEN);
    common::refused(&channel, stage.services.assistant.clone()).await;
    let status = channel.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(status.detail.contains("channels.matrix.user_id") && status.detail.contains(US), "{status:?}");
    assert!(!channel.inspect().await[0].ok);
    assert!(stage.channel_as(US, TOKEN).inspect().await[0].ok);
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_and_duplicates_nothing() {
    let stage = Stage::new();
    let front = Flaky::before(stage.server.clone(), |request| !request.url.contains("/typing/"));
    let channel = stage.channel_through(TOKEN, front.clone());
    for (number, (status, is_done)) in (1..).zip(BREAKDOWNS) {
        front.fail(status, is_done);
        let mut delivery = delivery(&format!("once, after {status} {is_done}"));
        delivery.id = number;
        common::deliver(&channel, &delivery).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let count = stage.server.sent().len();
        assert!(front.is_over() && i64::try_from(count) == Ok(number), "{status} {is_done}: {count}");
    }
    // Signing in, and messages that arrive while the proxy fails.
    let (trigger, shutdown) = ShutdownTrigger::pair();
    BREAKDOWNS.iter().for_each(|(status, is_done)| front.fail(*status, *is_done));
    let (running, assistant) = (channel.clone(), stage.services.assistant.clone());
    let running = tokio::spawn(async move { running.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(200)).await;
    let mut said = Vec::new();
    for (status, is_done) in BREAKDOWNS {
        // The call that waits now, and the next.
        front.fail(status, is_done);
        front.fail(status, is_done);
        said.push(format!("{status} {is_done}"));
        stage.server.say("@ada:hs", said.last().unwrap());
        tokio::time::sleep(Duration::from_secs(120)).await;
    }
    assert_eq!(channel.status().unwrap().state, ChannelState::Running);
    // It is seen that all is well again before the server has held a call for its whole time.
    front.fail(502, false);
    stage.server.changed.notify_waiters();
    while channel.status().unwrap().state == ChannelState::Running {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(channel.status().unwrap().state, ChannelState::Running, "{:?}", channel.status());
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(stage.services.assistant.texts(), said);
}
