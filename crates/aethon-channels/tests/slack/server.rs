//! A workspace in memory that keeps to the protocol, and refuses what Slack refuses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use aethon_channels::socket::{Dial, Wire};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use async_trait::async_trait;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use crate::common::{NOW, answer, header, lost, pass, query, response};

pub(crate) const BOT: &str = "xoxb-canary-of-the-bot";
pub(crate) const APP: &str = "xapp-canary-of-the-app";
pub(crate) const US: &str = "UBOT";

/// A workspace.
#[derive(Default)]
pub(crate) struct Workspace(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    /// Tickets that were not used yet.
    pub(crate) tickets: BTreeSet<String>,
    pub(crate) next: u32,
    /// What can be sent to each open socket, by its number.
    pub(crate) sockets: BTreeMap<u32, UnboundedSender<Value>>,
    /// How many sockets were open when one was left.
    pub(crate) open_at_leaving: Vec<usize>,
    pub(crate) opened: u32,
    pub(crate) confirmed: BTreeSet<String>,
    pub(crate) posted: Vec<Value>,
    pub(crate) whispers: Vec<Value>,
    pub(crate) calls: Vec<String>,
    /// Pauses that the next posts and edits are answered with.
    pub(crate) pauses: VecDeque<u64>,
    /// Posts that are taken, and whose answers get lost.
    pub(crate) losses: u32,
    /// The word with which every call is refused.
    pub(crate) refusal: Option<&'static str>,
    /// The word with which this method is refused.
    pub(crate) refused: Option<(&'static str, &'static str)>,
    /// Methods of streams that are done, and whose answers get lost.
    pub(crate) lost: VecDeque<&'static str>,
    /// What can be appended to: channel and time.
    pub(crate) streams: BTreeSet<(String, String)>,
    /// Words with which calls of streams were refused.
    pub(crate) faults: Vec<&'static str>,
    pub(crate) files: BTreeMap<String, Value>,
    /// Reactions that were added or removed.
    pub(crate) reactions: Vec<String>,
}

impl Workspace {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Something happens. Slack sends it until it is confirmed: at once, once more when that is not in time, and after one and
    /// five minutes.
    pub(crate) fn emit(self: &Arc<Self>, kind: &'static str, payload: Value) {
        let workspace = self.clone();
        tokio::spawn(async move {
            for (attempt, pause) in [0, 3, 60, 300].into_iter().enumerate() {
                pass(pause).await;
                let envelope = {
                    let mut state = workspace.state();
                    state.next += 1;
                    let envelope = format!("e{}", state.next);
                    let sent = json!({
                        "envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": false,
                        "retry_attempt": attempt, "retry_reason": if attempt > 0 { "timeout" } else { "" },
                    });
                    if let Some(socket) = state.sockets.values().next_back() {
                        let _ = socket.send(sent);
                    }
                    envelope
                };
                pass(3).await;
                if workspace.state().confirmed.contains(&envelope) {
                    return;
                }
            }
        });
    }

    /// An event of a message.
    pub(crate) fn event(self: &Arc<Self>, event: Value) {
        self.emit("events_api", json!({"team_id": "T1", "event": event}));
    }

    pub(crate) fn say(self: &Arc<Self>, channel: &str, user: &str, text: &str, number: u32) {
        self.event(json!({
            "type": "message", "channel": channel, "user": user, "text": text, "ts": format!("{NOW}.{number:06}"),
        }));
    }

    pub(crate) fn press(self: &Arc<Self>, user: &str, message: &Value, value: &str) {
        self.emit(
            "interactive",
            json!({
                "type": "block_actions", "user": {"id": user}, "channel": {"id": message["channel"]},
                "message": {"ts": message["ts"], "thread_ts": message["thread_ts"]},
                "actions": [{"action_id": "aethon_0", "value": value}],
            }),
        );
    }

    /// Slack says something about the newest socket.
    pub(crate) fn disconnect(&self, reason: &str) {
        let state = self.state();
        let socket = state.sockets.values().next_back().unwrap();
        socket.send(json!({"type": "disconnect", "reason": reason})).unwrap();
    }

    /// Every connection breaks.
    pub(crate) fn cut(&self) {
        self.state().sockets.clear();
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.state().sockets.is_empty()
    }

    async fn serve(self: Arc<Self>, wire: DuplexStream) {
        let workspace = self.clone();
        #[expect(clippy::result_large_err, reason = "the handshake's own type")]
        let check = move |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            let ticket = request.uri().query().unwrap_or_default().trim_start_matches("ticket=");
            match workspace.state().tickets.remove(ticket) {
                true => Ok(response),
                false => Err(Response::builder().status(403).body(None).unwrap()),
            }
        };
        let Ok(mut socket) = accept_hdr_async(wire, check).await else { return };
        let (sender, commands) = unbounded_channel();
        let number = {
            let mut state = self.state();
            state.opened += 1;
            let number = state.opened;
            state.sockets.insert(number, sender);
            number
        };
        let hello = json!({"type": "hello", "num_connections": 1});
        let _ = socket.send(Message::text(hello.to_string())).await;
        self.talk(&mut socket, commands).await;
        let mut state = self.state();
        state.sockets.remove(&number);
        let open = state.sockets.len();
        state.open_at_leaving.push(open);
    }

    async fn talk(&self, socket: &mut WebSocketStream<DuplexStream>, mut commands: UnboundedReceiver<Value>) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => { let _ = socket.send(Message::text(command.to_string())).await; }
                    None => return,
                },
                heard = socket.next() => match heard {
                    Some(Ok(Message::Text(text))) => {
                        let told: Value = serde_json::from_str(&text).unwrap();
                        let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
                        assert_eq!(keys, ["envelope_id"], "{told}");
                        self.state().confirmed.insert(told["envelope_id"].as_str().unwrap().to_owned());
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {}
                }
            }
        }
    }

    fn call(&self, method: &str, params: &Value) -> io::Result<ExchangeResponse> {
        let mut state = self.state();
        state.calls.push(method.to_owned());
        if let Some(refused) = state.refuse(method) {
            return Ok(refused);
        }
        match method {
            "auth.test" => Ok(ok(
                json!({"user_id": US, "user": "aethon", "bot_id": "B1", "team": "Home", "team_id": "T1"}),
            )),
            "apps.connections.open" => {
                state.next += 1;
                let ticket = format!("t{}", state.next);
                state.tickets.insert(ticket.clone());
                Ok(ok(json!({"url": format!("ws://127.0.0.1/link/?ticket={ticket}")})))
            }
            "chat.postMessage" => {
                let mut message = checked(params);
                state.next += 1;
                message["user"] = json!(US);
                message["ts"] = json!(format!("{NOW}.9{:05}", state.next));
                let told = json!({"channel": message["channel"], "ts": message["ts"]});
                state.posted.push(message);
                if state.losses > 0 {
                    state.losses -= 1;
                    return Err(lost());
                }
                Ok(ok(told))
            }
            "chat.startStream" | "chat.appendStream" | "chat.stopStream" => {
                let done = state.stream(method, params);
                if state.lost.front() == Some(&method) {
                    state.lost.pop_front();
                    return Err(lost());
                }
                Ok(done.map_or_else(
                    |word| {
                        state.faults.push(word);
                        answer(200, &json!({"ok": false, "error": word}))
                    },
                    ok,
                ))
            }
            "chat.update" if state.streams.contains(&place(params)) => {
                Ok(answer(200, &json!({"ok": false, "error": "streaming_state_conflict"})))
            }
            "chat.update" => {
                let new = match params.get("markdown_text") {
                    Some(_) => markdown(params),
                    None => checked(params),
                };
                let mut posted = state.posted.iter_mut();
                let Some(old) =
                    posted.find(|old| old["ts"] == params["ts"] && old["channel"] == new["channel"])
                else {
                    return Ok(answer(200, &json!({"ok": false, "error": "message_not_found"})));
                };
                old["text"] = new["text"].clone();
                if new.get("blocks").is_some() {
                    old["blocks"] = new["blocks"].clone();
                }
                Ok(ok(json!({})))
            }
            "chat.postEphemeral" => {
                state.whispers.push(params.clone());
                Ok(ok(json!({})))
            }
            "reactions.add" | "reactions.remove" => Ok(state.react(method, params)),
            "files.completeUploadExternal" => {
                let id = params["files"][0]["id"].as_str().unwrap().to_owned();
                state.files.insert(id, params["channel_id"].clone());
                Ok(ok(json!({})))
            }
            _ => panic!("{method} is not of this protocol"),
        }
    }

    fn look(&self, method: &str, url: &str) -> ExchangeResponse {
        let (mut state, params) = (self.state(), query(url));
        state.calls.push(method.to_owned());
        match method {
            "conversations.history" | "conversations.replies" => {
                assert_eq!(params["include_all_metadata"], "true");
                let is_here = |message: &&Value| {
                    let thread = message["thread_ts"].as_str();
                    let in_thread = thread == params.get("ts").map(String::as_str);
                    let oldest = params.get("oldest").map_or("", String::as_str);
                    let is_new = message["ts"].as_str() >= Some(oldest);
                    message["channel"] == params["channel"].as_str() && in_thread && is_new
                };
                let found: Vec<&Value> = state.posted.iter().filter(is_here).collect();
                ok(json!({"messages": found}))
            }
            "files.getUploadURLExternal" => {
                assert_eq!((params["filename"].as_str(), params["length"].as_str()), ("a.txt", "2"));
                ok(json!({"upload_url": "https://files.slack.com/upload/1", "file_id": "F1"}))
            }
            _ => panic!("{method} takes JSON"),
        }
    }
}

impl State {
    fn react(&mut self, method: &str, params: &Value) -> ExchangeResponse {
        assert_eq!(params["name"], "eyes");
        let text = |key: &str| params[key].as_str().unwrap();
        let place = format!("{}:{}", text("channel"), text("timestamp"));
        let sign = if method == "reactions.add" { "+" } else { "-" };
        if sign == "+" && self.reactions.contains(&format!("+{place}")) {
            return answer(200, &json!({"ok": false, "error": "already_reacted"}));
        }
        self.reactions.push(format!("{sign}{place}"));
        ok(json!({}))
    }

    /// The refusal of a call, if it is to be refused.
    fn refuse(&mut self, method: &str) -> Option<ExchangeResponse> {
        let of_this = self.refused.filter(|(refused, _)| *refused == method).map(|(_, word)| word);
        if let Some(word) = self.refusal.or(of_this) {
            return Some(answer(200, &json!({"ok": false, "error": word})));
        }
        let is_shown = method == "chat.postMessage" || method == "chat.update" || method.ends_with("Stream");
        let pause = if is_shown { self.pauses.pop_front() } else { None }?;
        let body = json!({"ok": false, "error": "ratelimited"}).to_string().into_bytes();
        Some(response(429, &[("retry-after", &pause.to_string())], body))
    }

    /// The response of a streaming method, or its error code.
    fn stream(&mut self, method: &str, params: &Value) -> Result<Value, &'static str> {
        let text = params.get("markdown_text").map(|text| text.as_str().unwrap());
        if text.is_some_and(|text| text.chars().count() > 12_000) {
            return Err("msg_too_long");
        }
        if text.is_some_and(|text| text.trim().is_empty()) || (text.is_none() && method != "chat.stopStream")
        {
            return Err("no_text");
        }
        let text = text.unwrap_or_default();
        assert!(!text.contains("<!channel") && !text.contains("<@U"), "{text}");
        if method == "chat.startStream" {
            let channel = params["channel"].as_str().unwrap();
            if !params["thread_ts"].as_str().is_some_and(|ts| ts.contains('.')) {
                return Err("invalid_arguments");
            }
            if !channel.starts_with('D') && params["recipient_user_id"].as_str().is_none() {
                return Err("missing_recipient_user_id");
            }
            if !channel.starts_with('D') && params["recipient_team_id"] != "T1" {
                return Err("missing_recipient_team_id");
            }
            self.next += 1;
            let mut message = params.clone();
            (message["ts"], message["user"]) = (json!(format!("{NOW}.9{:05}", self.next)), json!(US));
            message["text"] = json!(text);
            self.streams.insert(place(&message));
            let told = json!({"channel": channel, "ts": message["ts"]});
            self.posted.push(message);
            return Ok(told);
        }
        let found = |message: &&mut Value| place(message) == place(params);
        let message = self.posted.iter_mut().find(found).ok_or("message_not_found")?;
        if !self.streams.contains(&place(params)) {
            return Err("message_not_in_streaming_state");
        }
        message["text"] = json!(format!("{}{text}", message["text"].as_str().unwrap()));
        if method == "chat.stopStream" {
            self.streams.remove(&place(params));
        }
        Ok(json!({"channel": params["channel"], "ts": params["ts"]}))
    }
}

fn place(message: &Value) -> (String, String) {
    let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
    (text("channel"), text("ts"))
}

/// Markdown in the place of a message, if Slack would take it.
fn markdown(params: &Value) -> Value {
    let text = params["markdown_text"].as_str().unwrap();
    assert!(!text.trim().is_empty() && text.chars().count() <= 12_000, "{}", text.len());
    assert!(params.get("text").is_none() && params.get("blocks").is_none(), "{params}");
    let mut message = params.clone();
    message["text"] = json!(text);
    message
}

/// Returns the message as shown, after checking that Slack would accept it.
fn checked(params: &Value) -> Value {
    let text = params["text"].as_str().unwrap();
    assert!(!text.trim().is_empty() && text.encode_utf16().count() <= 4000, "{}", text.len());
    assert!(!text.contains("<!") && !text.contains("<@"), "{text}");
    assert!(params["unfurl_links"] == false && params["unfurl_media"] == false, "{params}");
    let blocks = params["blocks"].as_array().cloned().unwrap_or_default();
    assert!(blocks.len() <= 50);
    for block in &blocks {
        if block["type"] == "section" {
            let text = block["text"]["text"].as_str().unwrap();
            assert!(!text.is_empty() && text.len() <= 3000, "{}", text.len());
            continue;
        }
        let mut ids = BTreeSet::new();
        for button in block["elements"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            assert!(text(&button["value"]).len() <= 2000 && text(&button["text"]["text"]).len() <= 75);
            assert!(ids.insert(text(&button["action_id"])), "{button}");
        }
    }
    params.clone()
}

fn ok(mut body: Value) -> ExchangeResponse {
    body["ok"] = json!(true);
    answer(200, &body)
}

#[async_trait]
impl Exchange for Workspace {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let authorization = header(&request, "authorization").to_owned();
        if let Some(rest) = request.url.strip_prefix("https://files.slack.com/") {
            return Ok(match (request.method, rest) {
                (Method::Post, _) => {
                    assert!(authorization.is_empty() && request.body == b"hi");
                    response(200, &[], b"OK".to_vec())
                }
                _ if authorization == format!("Bearer {BOT}") && rest != "secret.txt" => {
                    response(200, &[("content-type", "text/plain")], b"what is in it".to_vec())
                }
                // A request without permission gets the sign-in page.
                _ => response(200, &[("content-type", "text/html; charset=utf-8")], b"<html>".to_vec()),
            });
        }
        let path = request.url.strip_prefix("http://127.0.0.1/api/").unwrap();
        let method = path.split('?').next().unwrap();
        let token = if method == "apps.connections.open" { APP } else { BOT };
        if authorization != format!("Bearer {token}") {
            return Ok(answer(200, &json!({"ok": false, "error": "invalid_auth"})));
        }
        match request.method {
            Method::Get => Ok(self.look(method, path)),
            _ => {
                assert_eq!(header(&request, "content-type"), "application/json; charset=utf-8");
                self.call(method, &serde_json::from_slice(&request.body).unwrap())
            }
        }
    }
}

pub(crate) struct Line(pub(crate) Arc<Workspace>);

#[async_trait]
impl Dial for Line {
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>> {
        assert_eq!((host, port), ("127.0.0.1", 80));
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.0.clone().serve(there));
        Ok(Box::new(here))
    }
}
