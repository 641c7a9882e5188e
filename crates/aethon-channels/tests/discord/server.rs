//! Discord in memory: a gateway with sessions, and a REST interface as strict as the real one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aethon_channels::socket::{Dial, Wire};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use async_trait::async_trait;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use crate::common::{answer, header, lost, query, response};

pub(crate) const TOKEN: &str = "canary.of.the-bot";
pub(crate) const US: &str = "99";
pub(crate) const ADA: &str = "1";
pub(crate) const EVE: &str = "2";
/// A private chat, and a channel of a server.
pub(crate) const DM: &str = "70";
pub(crate) const ROOM: &str = "80";
/// A thread of that server.
pub(crate) const THREAD: &str = "81";
/// How often a heart has to beat, in milliseconds.
pub(crate) const BEAT: u64 = 40_000;

pub(crate) enum Order {
    Send(Value),
    Close(u16),
    Cut,
}

#[derive(Default)]
pub(crate) struct Discord(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) next: u64,
    /// The events of the session, and whether it can be resumed.
    pub(crate) events: Vec<Value>,
    pub(crate) session: Option<String>,
    pub(crate) sockets: Vec<UnboundedSender<Order>>,
    pub(crate) identified: u32,
    pub(crate) resumed: Vec<u64>,
    /// The codes with which sockets were left; none without a word.
    pub(crate) left: Vec<Option<u16>>,
    pub(crate) beats: u32,
    /// Whether heartbeats are left without an answer.
    pub(crate) is_deaf: bool,
    /// The intents of the last session.
    pub(crate) intents: u64,
    /// Whether the owner has not enabled the message content intent in the portal.
    pub(crate) forbids_content: bool,
    /// All messages of a channel, including those without a gateway event.
    pub(crate) said: BTreeMap<String, Vec<Value>>,
    pub(crate) posted: Vec<Value>,
    pub(crate) edits: Vec<Value>,
    pub(crate) answers: Vec<Value>,
    pub(crate) commands: Vec<Value>,
    pub(crate) pauses: VecDeque<f64>,
    pub(crate) losses: u32,
    /// How many requests a route still takes; `None` any number.
    pub(crate) left_in_bucket: Option<u32>,
    pub(crate) overdrawn: u32,
    pub(crate) calls: Vec<String>,
    /// The channels that are threads.
    pub(crate) threads: BTreeSet<String>,
    /// The roles that we have.
    pub(crate) roles: Vec<String>,
    /// Reactions that were added or removed.
    pub(crate) reactions: Vec<String>,
}

impl Discord {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Adds a message without a gateway event.
    pub(crate) fn say_quietly(&self, channel: &str, user: &str, text: &str) -> Value {
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

    pub(crate) fn say(&self, channel: &str, user: &str, text: &str) {
        let mut message = self.say_quietly(channel, user, text);
        if channel == ROOM {
            message["guild_id"] = json!("8");
        }
        self.dispatch("MESSAGE_CREATE", message);
    }

    pub(crate) fn interact(&self, kind: u64, user: &str, channel: &str, data: Value) {
        let id = {
            let mut state = self.state();
            state.next += 1;
            (5000 + state.next).to_string()
        };
        self.dispatch(
            "INTERACTION_CREATE",
            json!({"id": id, "application_id": "4242", "token": "canary-of-an-interaction", "type": kind, "channel_id": channel, "user": {"id": user}, "data": data}),
        );
    }

    pub(crate) fn dispatch(&self, kind: &str, event: Value) {
        let mut state = self.state();
        let seq = state.events.len() + 1;
        let event = json!({"op": 0, "s": seq, "t": kind, "d": event});
        state.events.push(event.clone());
        state.order(Order::Send(event));
    }

    pub(crate) fn order(&self, order: Order) {
        self.state().order(order);
    }

    /// Forgets the session.
    pub(crate) fn lose_session(&self) {
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
            (Method::Get, ["channels", channel]) => {
                let kind = if self.state().threads.contains(*channel) { 11 } else { 0 };
                Ok(answer(200, &json!({"id": channel, "type": kind, "guild_id": "8"})))
            }
            (Method::Get, ["guilds", "8", "members", US]) => {
                Ok(answer(200, &json!({"user": {"id": US}, "roles": self.state().roles})))
            }
            (Method::Get, ["guilds", "8", "roles"]) => Ok(answer(
                200,
                &json!([{"id": "555", "managed": true, "tags": {"bot_id": US}}, {"id": "556"}]),
            )),
            (
                Method::Put | Method::Delete,
                ["channels", channel, "messages", message, "reactions", eyes, "@me"],
            ) => {
                assert_eq!(*eyes, "%F0%9F%91%80");
                let sign = if request.method == Method::Put { "+" } else { "-" };
                self.state().reactions.push(format!("{sign}{channel}/{message}"));
                Ok(response(204, &[], Vec::new()))
            }
            (Method::Patch, ["webhooks", "4242", "canary-of-an-interaction", "messages", "@original"]) => {
                self.state().answers.push(json!({"type": "followed up", "data": body}));
                Ok(answer(200, &json!({"id": "1"})))
            }
            (Method::Get, ["channels", channel, "messages"]) if path.contains("before=") => {
                let params = query(&path);
                let (before, limit): (u64, usize) =
                    (params["before"].parse().unwrap(), params["limit"].parse().unwrap());
                let state = self.state();
                let said = state.said.get(*channel).into_iter().flatten().rev();
                let older =
                    said.filter(|message| message["id"].as_str().unwrap().parse::<u64>().unwrap() < before);
                Ok(answer(200, &json!(older.take(limit).collect::<Vec<_>>())))
            }
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
                assert!(body["type"] == 4 || body["type"] == 5, "{body}");
                assert_eq!(body["data"]["flags"], 64);
                self.state().answers.push(body);
                Ok(response(204, &[], Vec::new()))
            }
            _ => panic!("{path} is not of this protocol"),
        }
    }
}

pub(crate) struct Line(pub(crate) Arc<Discord>);

#[async_trait]
impl Dial for Line {
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>> {
        assert_eq!((host, port), ("127.0.0.1", 7));
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.0.clone().serve(there));
        Ok(Box::new(here))
    }
}
