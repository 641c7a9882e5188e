//! The Discord channel against a gateway and a REST interface in memory that keep to the protocol: sessions that are resumed and
//! replayed, heartbeats, close codes, names of messages, limits by route.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aethon_channels::socket::{Dial, Wire};
use aethon_channels::{Groups, Messenger, discord};
use aethon_core::approval::{Resolution, ResolutionReason};
use aethon_core::channel::{Channel, ChannelState};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::secret::Secret;
use aethon_core::surface::TurnEvent;
use async_trait::async_trait;
use common::{Ground, answer, delivery, eventually, header, lost, pass, query, response};
use futures_util::{SinkExt, StreamExt};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

const TOKEN: &str = "canary.of.the-bot";
const US: &str = "99";
const ADA: &str = "1";
const EVE: &str = "2";
/// A private chat, and a channel of a server.
const DM: &str = "70";
const ROOM: &str = "80";
/// How often a heart has to beat, in milliseconds.
const BEAT: u64 = 40_000;

enum Order {
    Send(Value),
    Close(u16),
    Cut,
}

#[derive(Default)]
struct Discord(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    /// The events of the session, and whether it can be resumed.
    events: Vec<Value>,
    session: Option<String>,
    sockets: Vec<UnboundedSender<Order>>,
    identified: u32,
    resumed: Vec<u64>,
    /// The codes with which sockets were left; none without a word.
    left: Vec<Option<u16>>,
    beats: u32,
    /// Whether heartbeats are left without an answer.
    is_deaf: bool,
    /// The intents of the last session.
    intents: u64,
    /// What the owner has not allowed in the portal.
    forbids_content: bool,
    /// Everything said in a channel, also what the gateway never told.
    said: BTreeMap<String, Vec<Value>>,
    posted: Vec<Value>,
    edits: Vec<Value>,
    answers: Vec<Value>,
    commands: Vec<Value>,
    pauses: VecDeque<f64>,
    losses: u32,
    /// How many requests a route still takes; `None` any number.
    left_in_bucket: Option<u32>,
    overdrawn: u32,
    calls: Vec<String>,
}

impl Discord {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Something is said, without the gateway telling.
    fn say_quietly(&self, channel: &str, user: &str, text: &str) -> Value {
        let mut state = self.state();
        state.next += 1;
        let message = json!({
            "id": (1000 + state.next).to_string(), "channel_id": channel, "type": 0, "content": text,
            "timestamp": "2027-01-15T08:00:00.000000+00:00", "author": {"id": user, "username": format!("user{user}")},
            "mentions": if text.contains("<@99>") { json!([{"id": US}]) } else { json!([]) }, "attachments": [],
        });
        state.said.entry(channel.into()).or_default().push(message.clone());
        message
    }

    fn say(&self, channel: &str, user: &str, text: &str) {
        let mut message = self.say_quietly(channel, user, text);
        if channel == ROOM {
            message["guild_id"] = json!("8");
        }
        self.dispatch("MESSAGE_CREATE", message);
    }

    fn interact(&self, kind: u64, user: &str, channel: &str, data: Value) {
        let id = {
            let mut state = self.state();
            state.next += 1;
            (5000 + state.next).to_string()
        };
        self.dispatch(
            "INTERACTION_CREATE",
            json!({"id": id, "token": "canary-of-an-interaction", "type": kind, "channel_id": channel, "user": {"id": user}, "data": data}),
        );
    }

    fn dispatch(&self, kind: &str, event: Value) {
        let mut state = self.state();
        let seq = state.events.len() + 1;
        let event = json!({"op": 0, "s": seq, "t": kind, "d": event});
        state.events.push(event.clone());
        state.order(Order::Send(event));
    }

    fn order(&self, order: Order) {
        self.state().order(order);
    }

    /// Forgets the session.
    fn lose_session(&self) {
        let mut state = self.state();
        state.session = None;
        state.events.clear();
    }

    async fn serve(self: Arc<Self>, wire: DuplexStream) {
        #[expect(clippy::result_large_err, reason = "the handshake's own type")]
        let check = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            assert_eq!(request.uri().to_string(), "/?v=10&encoding=json");
            Ok(response)
        };
        let mut socket = accept_hdr_async(wire, check).await.unwrap();
        let (sender, orders) = unbounded_channel();
        tell(&mut socket, json!({"op": 10, "d": {"heartbeat_interval": BEAT}})).await;
        let left = self.talk(&mut socket, orders, sender).await;
        let mut state = self.state();
        if matches!(left, Some(1000 | 1001)) {
            state.session = None;
        }
        state.left.push(left);
    }

    async fn talk(
        &self,
        socket: &mut WebSocketStream<DuplexStream>,
        mut orders: UnboundedReceiver<Order>,
        sender: UnboundedSender<Order>,
    ) -> Option<u16> {
        let mut sender = Some(sender);
        let mut beat_until = Instant::now() + Duration::from_millis(BEAT * 3 / 2);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(beat_until) => panic!("no heartbeat came in time"),
                order = orders.recv() => match order {
                    Some(Order::Send(value)) => tell(socket, value).await,
                    Some(Order::Close(code)) => {
                        let frame = CloseFrame { code: code.into(), reason: "".into() };
                        let _ = socket.close(Some(frame)).await;
                        return None;
                    }
                    Some(Order::Cut) | None => return None,
                },
                heard = socket.next() => match heard {
                    Some(Ok(Message::Text(text))) => {
                        let heard: Value = serde_json::from_str(&text).unwrap();
                        if heard["op"] == 1 {
                            beat_until = Instant::now() + Duration::from_millis(BEAT * 3 / 2);
                        }
                        if let Some(code) = self.hear(socket, &heard, &mut sender).await {
                            let frame = CloseFrame { code: code.into(), reason: "".into() };
                            let _ = socket.close(Some(frame)).await;
                            return None;
                        }
                    }
                    Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        }
    }

    /// Returns the code to close with.
    async fn hear(
        &self,
        socket: &mut WebSocketStream<DuplexStream>,
        heard: &Value,
        sender: &mut Option<UnboundedSender<Order>>,
    ) -> Option<u16> {
        match heard["op"].as_u64().unwrap() {
            1 => {
                self.state().beats += 1;
                if !self.state().is_deaf {
                    tell(socket, json!({"op": 11})).await;
                }
                None
            }
            2 => {
                let ready = {
                    let mut state = self.state();
                    if heard["d"]["token"] != TOKEN {
                        return Some(4004);
                    }
                    state.intents = heard["d"]["intents"].as_u64().unwrap();
                    if state.forbids_content && state.intents & (1 << 15) != 0 {
                        return Some(4014);
                    }
                    state.identified += 1;
                    let session = format!("s{}", state.identified);
                    state.session = Some(session.clone());
                    state.events.clear();
                    let ready = json!({"op": 0, "s": 1, "t": "READY", "d": {
                        "session_id": session, "resume_gateway_url": "ws://127.0.0.1:7", "user": {"id": US, "username": "aethon"},
                        "application": {"id": "4242"},
                    }});
                    state.events.push(ready.clone());
                    state.sockets.extend(sender.take());
                    ready
                };
                tell(socket, ready).await;
                None
            }
            6 => {
                let missed = {
                    let mut state = self.state();
                    assert_eq!(heard["d"]["token"], TOKEN);
                    let is_known = state.session.as_deref() == heard["d"]["session_id"].as_str();
                    let seq = heard["d"]["seq"].as_u64().unwrap();
                    state.resumed.push(seq);
                    if !is_known {
                        None
                    } else {
                        state.sockets.extend(sender.take());
                        let missed = state.events.iter().filter(|event| event["s"].as_u64() > Some(seq));
                        Some(missed.cloned().collect::<Vec<_>>())
                    }
                };
                let Some(missed) = missed else {
                    tell(socket, json!({"op": 9, "d": false})).await;
                    return None;
                };
                for event in missed {
                    tell(socket, event).await;
                }
                let seq = {
                    let mut state = self.state();
                    let seq = state.events.len() + 1;
                    state.events.push(json!({"op": 0, "s": seq, "t": "RESUMED", "d": {}}));
                    seq
                };
                tell(socket, json!({"op": 0, "s": seq, "t": "RESUMED", "d": {}})).await;
                None
            }
            op => panic!("{op} is no operation of a client"),
        }
    }

    fn post(&self, channel: &str, message: &Value) -> io::Result<ExchangeResponse> {
        let mut state = self.state();
        if let Some(pause) = state.pauses.pop_front() {
            return Ok(answer(429, &json!({"message": "slow down", "retry_after": pause, "global": false})));
        }
        let left = state.left_in_bucket.map(|left| left.saturating_sub(1));
        if state.left_in_bucket == Some(0) {
            state.overdrawn += 1;
            return Ok(answer(429, &json!({"retry_after": 5.0})));
        }
        state.left_in_bucket = left;
        checked(message);
        let (nonce, once) = (message["nonce"].as_str().unwrap(), &message["enforce_nonce"]);
        assert!(nonce.len() <= 25 && *once == true, "{message}");
        let known = state.posted.iter().find(|posted| posted["nonce"] == nonce).cloned();
        let posted = known.unwrap_or_else(|| {
            state.next += 1;
            let mut posted = message.clone();
            posted["id"] = json!((9000 + state.next).to_string());
            posted["channel_id"] = json!(channel);
            state.posted.push(posted.clone());
            posted
        });
        if state.losses > 0 {
            state.losses -= 1;
            return Err(lost());
        }
        let told = json!({"id": posted["id"]}).to_string().into_bytes();
        let left = left.map(|left| left.to_string()).unwrap_or("9".into());
        Ok(response(200, &[("x-ratelimit-remaining", &left), ("x-ratelimit-reset-after", "2.5")], told))
    }

    fn edit(&self, message: &str, new: &Value) -> ExchangeResponse {
        let mut state = self.state();
        checked(new);
        let Some(old) = state.posted.iter_mut().find(|posted| posted["id"] == message) else {
            return answer(404, &json!({"code": 10008, "message": "Unknown Message"}));
        };
        old["content"] = new["content"].clone();
        old["components"] = new["components"].clone();
        state.edits.push(new.clone());
        answer(200, &json!({"id": message}))
    }
}

impl State {
    fn order(&mut self, order: Order) {
        let newest = self.sockets.last();
        // A socket that is gone hears nothing.
        let _ = newest.map(|socket| socket.send(order));
    }
}

async fn tell(socket: &mut WebSocketStream<DuplexStream>, value: Value) {
    // The other side may be gone.
    let _ = socket.send(Message::text(value.to_string())).await;
}

fn checked(message: &Value) {
    let content = message["content"].as_str().unwrap();
    assert!(!content.trim().is_empty() && content.encode_utf16().count() <= 2000, "{}", content.len());
    assert_eq!(message["allowed_mentions"], json!({"parse": []}), "{message}");
    assert_eq!(content.matches("```").count() % 2, 0, "a block is open at the end: {content}");
    for row in message["components"].as_array().unwrap() {
        for button in row["components"].as_array().unwrap() {
            let text = |key: &str| button[key].as_str().unwrap().len();
            assert!((1..=100).contains(&text("custom_id")) && text("label") <= 80, "{button}");
        }
    }
}

#[async_trait]
impl Exchange for Discord {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        if let Some(file) = request.url.strip_prefix("https://cdn.discordapp.com/") {
            assert!(header(&request, "authorization").is_empty(), "the token is for nobody else");
            return Ok(response(200, &[], file.as_bytes().to_vec()));
        }
        let path = request.url.strip_prefix("http://127.0.0.1/api/v10").unwrap().to_owned();
        assert!(header(&request, "user-agent").starts_with("DiscordBot (https://"), "{path}");
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.state().calls.push(path.clone());
        if header(&request, "authorization") != format!("Bot {TOKEN}") {
            return Ok(answer(401, &json!({"message": "401: Unauthorized", "code": 0})));
        }
        let parts: Vec<&str> = path.split('?').next().unwrap().trim_start_matches('/').split('/').collect();
        match (request.method, parts.as_slice()) {
            (Method::Get, ["users", "@me"]) => {
                Ok(answer(200, &json!({"id": US, "username": "aethon", "bot": true})))
            }
            (Method::Get, ["gateway", "bot"]) => Ok(answer(
                200,
                &json!({"url": "ws://127.0.0.1:7", "shards": 1, "session_start_limit": {"total": 1000, "remaining": 999, "reset_after": 1}}),
            )),
            (Method::Put, ["applications", "4242", "commands"]) => {
                self.state().commands.push(body);
                Ok(answer(200, &json!([])))
            }
            (Method::Post, ["channels", _, "typing"]) => Ok(response(204, &[], Vec::new())),
            (Method::Post, ["channels", channel, "messages"]) => self.post(channel, &body),
            (Method::Patch, ["channels", _, "messages", message]) => Ok(self.edit(message, &body)),
            (Method::Get, ["channels", channel, "messages"]) => {
                let params = query(&path);
                let after: u64 = params["after"].parse().unwrap();
                let state = self.state();
                let said = state.said.get(*channel).into_iter().flatten();
                let newer =
                    said.filter(|message| message["id"].as_str().unwrap().parse::<u64>().unwrap() > after);
                let page: Vec<&Value> = newer.take(100).collect();
                // The newest comes first.
                Ok(answer(200, &json!(page.into_iter().rev().collect::<Vec<_>>())))
            }
            (Method::Post, ["interactions", _, "canary-of-an-interaction", "callback"]) => {
                assert_eq!((&body["type"], &body["data"]["flags"]), (&json!(4), &json!(64)));
                self.state().answers.push(body);
                Ok(response(204, &[], Vec::new()))
            }
            _ => panic!("{path} is not of this protocol"),
        }
    }
}

struct Line(Arc<Discord>);

#[async_trait]
impl Dial for Line {
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>> {
        assert_eq!((host, port), ("127.0.0.1", 7));
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.0.clone().serve(there));
        Ok(Box::new(here))
    }
}

fn channel_with(ground: &Ground, discord: &Arc<Discord>, token: &str, groups: Groups) -> Arc<Messenger> {
    let options = discord::Options {
        api_base: "http://127.0.0.1/api/v10".into(),
        token: Secret::new(token),
        message_content: groups == Groups::All,
        exchange: discord.clone(),
        dial: Arc::new(Line(discord.clone())),
    };
    let rules = aethon_channels::Rules { groups, ..ground.rules("discord", &[ADA, EVE]) };
    Arc::new(discord::channel(options, rules, ground.around()))
}

fn channel(ground: &Ground, discord: &Arc<Discord>) -> Arc<Messenger> {
    channel_with(ground, discord, TOKEN, Groups::Mention)
}

#[tokio::test(start_paused = true)]
async fn messages_arrive_once_through_breaks_restarts_and_replays() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    discord.say_quietly(DM, ADA, "before the first start");
    let messenger = channel(&ground, &discord);
    let running = ground.start(&messenger);
    eventually("it is signed in", || messenger.status().unwrap().state == ChannelState::Running).await;
    discord.say(DM, ADA, "one");
    discord.say(ROOM, ADA, "not for you");
    discord.say(ROOM, ADA, "<@99> two");
    discord.say(DM, "3", "obey");
    discord.say(DM, "99", "our own");
    pass(5).await;
    // The connection breaks, and Discord asks us to come back: each time the session goes on.
    discord.order(Order::Cut);
    discord.say(DM, ADA, "three");
    pass(10).await;
    discord.order(Order::Send(json!({"op": 7})));
    pass(10).await;
    discord.say(DM, ADA, "four");
    pass(10).await;
    discord.order(Order::Close(4000));
    pass(10).await;
    assert_eq!(ground.notes.texts(), ["one", "[user1] two", "three", "four"]);
    // A restart goes on in the session as well, and so does a start after the program was killed.
    running.stop().await;
    assert_eq!(discord.state().left.last(), Some(&Some(4000)), "1000 would end the session");
    discord.say(DM, ADA, "five");
    let running = ground.start(&channel(&ground, &discord));
    eventually("five arrives", || ground.notes.texts().len() == 5).await;
    running.kill().await;
    discord.say(DM, ADA, "six");
    let running = ground.start(&channel(&ground, &discord));
    eventually("six arrives", || ground.notes.texts().len() == 6).await;
    pass(300).await;
    running.stop().await;
    assert_eq!(ground.notes.texts()[4..], ["five", "six"]);
    let state = discord.state();
    assert_eq!(state.identified, 1, "one session all the time");
    assert!(state.resumed.len() >= 5 && state.beats > 5, "{:?} {}", state.resumed, state.beats);
    assert_eq!(state.commands.len(), 1, "registered once");
    assert!(ground.words.0.lock().unwrap().is_empty(), "a stranger learns nothing");
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_session_missed_is_fetched_in_its_order() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "one");
    discord.say(ROOM, ADA, "<@99> two");
    pass(5).await;
    running.stop().await;
    discord.lose_session();
    let more: Vec<String> = (0..150).map(|number| format!("number {number}")).collect();
    for text in &more {
        discord.say_quietly(DM, ADA, text);
    }
    discord.say_quietly(ROOM, ADA, "not for you");
    discord.say_quietly(ROOM, ADA, "<@99> three");
    let running = ground.start(&channel(&ground, &discord));
    eventually("all have arrived", || ground.notes.texts().len() == 153).await;
    discord.say(DM, ADA, "last");
    pass(10).await;
    // Discord does not know the session while it runs.
    discord.lose_session();
    discord.order(Order::Send(json!({"op": 9, "d": false})));
    pass(1).await;
    discord.say_quietly(DM, ADA, "meanwhile");
    eventually("that is fetched", || ground.notes.texts().len() == 155).await;
    running.stop().await;
    let texts = ground.notes.texts();
    assert_eq!(texts[2..152], more);
    assert_eq!(texts[152..], ["[user1] three", "last", "meanwhile"]);
    assert_eq!(discord.state().identified, 3);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_heartbeats_is_left_and_come_back_to() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.state().is_deaf = true;
    eventually("it was left", || !discord.state().left.is_empty()).await;
    discord.state().is_deaf = false;
    assert_eq!(discord.state().left[0], Some(4000));
    discord.say(DM, ADA, "are you there?");
    eventually("it comes back", || ground.notes.texts() == ["are you there?"]).await;
    assert_eq!(discord.state().identified, 1);
    // Some codes end the session, and the next one is new.
    discord.order(Order::Close(4009));
    eventually("a new session", || discord.state().identified == 2).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_no_further_attempt_can_mend_is_told_once() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let messenger = channel_with(&ground, &discord, "wrong-canary", Groups::Mention);
    ground.start(&messenger).ended().await;
    let status = messenger.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(
        status.detail.contains("channels.discord.token") && !status.detail.contains("canary"),
        "{status:?}"
    );
    assert!(!messenger.inspect().await[0].ok);
    let checks = channel(&ground, &discord).inspect().await;
    assert!(checks.iter().all(|check| check.ok) && checks.len() == 2, "{checks:?}");
    discord.state().forbids_content = true;
    let messenger = channel_with(&ground, &discord, TOKEN, Groups::All);
    ground.start(&messenger).ended().await;
    assert!(messenger.status().unwrap().detail.contains("channels.discord.message_content"));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it needs no privilege", || discord.state().identified == 1).await;
    assert_eq!(discord.state().intents, 1 << 9 | 1 << 12);
    discord.order(Order::Close(4004));
    running.ended().await;
    assert!(discord.state().posted.is_empty(), "nothing is sent");
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_once_and_limits_are_kept_to_the_moment() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let messenger = channel(&ground, &discord);
    let text = format!(
        "A **bold** @everyone [link](https://a.b/c)\n\n```rust\n{}```\n\n{}",
        "let a_b = 1 < 2;\n".repeat(150),
        "snake_case and *stars* ".repeat(200)
    );
    let delivery = delivery("discord", DM, &text);
    discord.state().pauses.push_back(1.25);
    let error = messenger.send(&delivery).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_millis(1250)));
    pass(2).await;
    discord.state().losses = 2;
    assert!(messenger.send(&delivery).await.unwrap_err().retryable, "nobody knows whether it has arrived");
    pass(3).await;
    // The program was killed before it knew.
    let messenger = channel(&ground, &discord);
    assert!(messenger.send(&delivery).await.unwrap_err().retryable);
    pass(3).await;
    discord.state().left_in_bucket = Some(2);
    let mut pauses = 0;
    while let Err(error) = messenger.send(&delivery).await {
        pauses += 1;
        tokio::time::sleep(error.retry_after.unwrap_or(Duration::from_secs(1))).await;
        discord.state().left_in_bucket = Some(2);
    }
    let state = discord.state();
    assert!(pauses > 0 && state.overdrawn == 0, "a route that is used up is not asked: {}", state.overdrawn);
    let whole: Vec<&str> = state.posted.iter().map(|posted| posted["content"].as_str().unwrap()).collect();
    let whole = whole.join("\n");
    assert_eq!(whole.matches("let a_b").count(), 150);
    assert_eq!(whole.matches("snake\\_case").count(), 200);
    assert!(whole.starts_with("A **bold** @everyone [link](<https://a.b/c>)"), "{whole}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_pressed_by_the_asker_once_and_commands_are_obeyed() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "do it");
    eventually("it has arrived", || !ground.notes.texts().is_empty()).await;
    let request = ground.question(DM, "discord");
    let mut ticket = ground.desk.open(request.clone());
    let surface = ground.notes.last_surface();
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    eventually("the question is shown", || !discord.state().posted.is_empty()).await;
    let question = discord.state().posted[0].clone();
    assert!(
        question["content"].as_str().unwrap().contains("\"ls & <!channel> `\u{200B}`\u{200B}`\""),
        "{question}"
    );
    let button =
        |number: usize| json!({"custom_id": question["components"][0]["components"][number]["custom_id"]});
    let answered = |count: usize| {
        let discord = discord.clone();
        async move {
            eventually("it is answered", || discord.state().answers.len() == count).await;
            discord.state().answers[count - 1]["data"]["content"].as_str().unwrap().to_owned()
        }
    };
    discord.interact(3, EVE, DM, button(0));
    assert!(answered(1).await.contains("Only the person"));
    assert_eq!(ground.desk.pending().len(), 1);
    discord.interact(3, ADA, DM, button(0));
    assert_eq!(answered(2).await, "Approved.");
    discord.interact(3, ADA, DM, button(1));
    assert!(answered(3).await.contains("settled"), "once");
    discord.interact(3, ADA, ROOM, json!({"custom_id": "x"}));
    assert!(answered(4).await.contains("not known"));
    let answer = ticket.answer().await.answer;
    assert_eq!(answer.by, "1 on discord");
    let resolution = Resolution { decision: answer.decision, reason: ResolutionReason::User };
    surface.emit(&request.turn, TurnEvent::ApprovalDone { id: request.id.clone(), resolution });
    eventually("the outcome is shown", || {
        let state = discord.state();
        state.posted[0]["content"].as_str().unwrap().ends_with("**Approved**")
            && state.posted[0]["components"] == json!([])
    })
    .await;
    discord.interact(2, ADA, DM, json!({"name": "stop"}));
    discord.interact(2, "3", DM, json!({"name": "help"}));
    assert_eq!(answered(5).await, "Yes.");
    eventually("it is obeyed", || !ground.words.0.lock().unwrap().is_empty()).await;
    pass(20).await;
    assert_eq!(*ground.words.0.lock().unwrap(), [(DM.to_owned(), "Stopped.".to_owned())]);
    assert_eq!(discord.state().answers.len(), 5, "a stranger learns nothing");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn files_are_fetched_from_where_discord_keeps_them_and_nowhere_else() {
    let (ground, discord) = (Ground::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    for (number, url) in
        ["https://cdn.discordapp.com/notes", "https://evil.example/cdn.discordapp.com/x"].iter().enumerate()
    {
        discord.dispatch(
            "MESSAGE_CREATE",
            json!({
                "id": format!("{number}0"), "channel_id": DM, "type": 0, "content": "look", "author": {"id": ADA},
                "timestamp": Timestamp::from_second(common::NOW).unwrap().to_string(), "mentions": [],
                "attachments": [{"url": url, "filename": "a.txt", "content_type": "text/plain", "size": 5}],
            }),
        );
    }
    eventually("both have arrived", || ground.notes.texts().len() == 2).await;
    running.stop().await;
    let files: Vec<usize> =
        ground.notes.inbound.lock().unwrap().iter().map(|inbound| inbound.attachments.len()).collect();
    assert_eq!(files, [1, 0]);
}
