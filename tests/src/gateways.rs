//! Slack and Discord on loopback, HTTP and WebSocket on one port, as far as one scenario of each needs them. The crate
//! `aethon-channels` tests their protocols in full; here the built programs meet real sockets.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Error, Message, WebSocket};

use crate::eventually;
use crate::stub::Seen;

/// The tokens of the bot and of Slack's app.
pub const TOKENS: [&str; 2] = ["xoxb-canary-of-the-bot-token", "xapp-canary-of-the-app-token"];
/// The person who may write.
pub const OWNER: [&str; 2] = ["UOWNER", "42"];
/// Their private chat.
pub const CHAT: [&str; 2] = ["D1", "70"];

/// The platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Slack.
    Slack,
    /// Discord.
    Discord,
}

/// A message in the chat.
#[derive(Debug, Clone)]
pub struct PostedMessage {
    /// Its id.
    pub id: String,
    /// The key by which a repetition is recognised.
    pub name: String,
    /// Its versions, oldest first; the last one is shown.
    pub texts: Vec<String>,
    /// The values that its buttons send.
    pub buttons: Vec<String>,
}

impl PostedMessage {
    /// Its current text.
    pub fn text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }
}

/// The service.
pub struct Gateway {
    /// The address it listens on.
    pub address: SocketAddr,
    kind: Kind,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// The events, and how many of them the newest socket was sent.
    events: Vec<Value>,
    told: usize,
    /// The number of the newest socket.
    socket: u64,
    confirmed: Vec<String>,
    identified: u32,
    posted: Vec<PostedMessage>,
    losses: u32,
    answers: Vec<String>,
    /// Messages of threads of Slack, and the threads of what was posted.
    thread: Vec<Value>,
    threads: Vec<String>,
}

impl Gateway {
    /// Starts the service.
    pub fn start(kind: Kind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the gateway");
        let address = listener.local_addr().expect("it has an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(kind, address, connection, &state));
            }
        });
        Self { address, kind, state }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        let address = self.address;
        match self.kind {
            Kind::Slack => vec![
                "channels.slack.enabled=true".into(),
                format!("channels.slack.api_base=http://{address}/api"),
                format!("channels.slack.bot_token={}", TOKENS[0]),
                format!("channels.slack.app_token={}", TOKENS[1]),
                format!("security.allowed_senders.slack=[\"{}\"]", OWNER[0]),
            ],
            Kind::Discord => vec![
                "channels.discord.enabled=true".into(),
                format!("channels.discord.api_base=http://{address}/api"),
                format!("channels.discord.token={}", TOKENS[0]),
                format!("security.allowed_senders.discord=[\"{}\"]", OWNER[1]),
            ],
        }
    }

    /// Writes a private message as the owner.
    pub fn say(&self, text: &str) {
        let mut state = lock(&self.state);
        state.next += 1;
        let (number, now) = (state.next, now());
        let event = match self.kind {
            Kind::Slack => json!({"type": "events_api", "payload": {"event": {
                "type": "message", "channel": CHAT[0], "user": OWNER[0], "text": text, "ts": format!("{now}.{number:06}"),
            }}}),
            Kind::Discord => json!({"t": "MESSAGE_CREATE", "d": {
                "id": (1000 + number).to_string(), "channel_id": CHAT[1], "type": 0, "content": text, "mentions": [],
                "timestamp": rfc3339(now), "author": {"id": OWNER[1], "username": "owner"}, "attachments": [],
            }}),
        };
        state.events.push(event);
    }

    /// Brings an event of Slack with these fields, at this number.
    pub fn bring(&self, number: u64, fields: &Value) {
        let mut event = json!({"type": "message", "user": OWNER[0], "ts": format!("{}.{number:06}", now())});
        for (name, value) in fields.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        let mut state = lock(&self.state);
        state.thread.push(event.clone());
        state.events.push(json!({"type": "events_api", "payload": {"event": event}}));
    }

    /// Adds a message to a thread of Slack without an event.
    pub fn put(&self, message: Value) {
        lock(&self.state).thread.push(message);
    }

    /// The threads in which messages were posted.
    pub fn threads(&self) -> Vec<String> {
        lock(&self.state).threads.clone()
    }

    /// Presses a button as the owner.
    pub fn press(&self, message: &PostedMessage, data: &str) {
        let mut state = lock(&self.state);
        let event = match self.kind {
            Kind::Slack => json!({"type": "interactive", "payload": {
                "type": "block_actions", "user": {"id": OWNER[0]}, "channel": {"id": CHAT[0]},
                "message": {"ts": message.id}, "actions": [{"value": data}],
            }}),
            Kind::Discord => json!({"t": "INTERACTION_CREATE", "d": {
                "id": "77", "token": "t", "type": 3, "channel_id": CHAT[1], "user": {"id": OWNER[1]},
                "data": {"custom_id": data},
            }}),
        };
        state.events.push(event);
    }

    /// Accepts the next message but loses the answer.
    pub fn lose_answer(&self) {
        lock(&self.state).losses += 1;
    }

    /// The messages in the chat.
    pub fn chat(&self) -> Vec<PostedMessage> {
        lock(&self.state).posted.clone()
    }

    /// The number of sessions started on the gateway.
    pub fn identified(&self) -> u32 {
        lock(&self.state).identified
    }

    /// Waits for a matching message.
    pub fn await_message(&self, what: &str, fits: impl Fn(&PostedMessage) -> bool) -> PostedMessage {
        eventually(what, || self.chat().into_iter().find(|posted| fits(posted)))
    }

    /// Waits until a press was answered with this text.
    pub fn await_answer(&self, words: &str) {
        eventually(words, || lock(&self.state).answers.iter().any(|told| told.contains(words)).then_some(()));
    }
}

fn serve(kind: Kind, address: SocketAddr, connection: TcpStream, state: &Mutex<State>) {
    let mut beginning = [0; 7];
    // The first bytes show whether it is a WebSocket.
    let is_socket = eventually("a request", || match connection.peek(&mut beginning) {
        Ok(0) | Err(_) => Some(false),
        Ok(7) => Some(beginning == *b"GET /?v" || beginning == *b"GET /?t"),
        Ok(_) => None,
    });
    if is_socket {
        let _ = talk(kind, address, connection, state);
        return;
    }
    let Ok(seen) = Seen::read(&connection) else { return };
    let Some((status, answer)) = call(kind, address, state, &seen) else { return };
    let body = if status == 204 { String::new() } else { answer.to_string() };
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut connection = connection;
    // The client may be gone.
    let _ = connection.write_all((head + &body).as_bytes());
}

/// Serves a socket until another one connects or it breaks.
fn talk(kind: Kind, address: SocketAddr, connection: TcpStream, state: &Mutex<State>) -> Result<(), Error> {
    let mut socket = tungstenite::accept(connection).map_err(|_| Error::ConnectionClosed)?;
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(10)))?;
    let hello = match kind {
        Kind::Slack => json!({"type": "hello"}),
        Kind::Discord => json!({"op": 10, "d": {"heartbeat_interval": 5000}}),
    };
    tell(&mut socket, &hello)?;
    let own = {
        let mut state = lock(state);
        state.socket += 1;
        // Slack resends unconfirmed events; at Discord the client says where to resume.
        state.told = if kind == Kind::Slack { 0 } else { usize::MAX };
        state.socket
    };
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => {
                let heard: Value = serde_json::from_str(&text).expect("JSON");
                for answer in hear(kind, address, &heard, state) {
                    tell(&mut socket, &answer)?;
                }
            }
            Ok(_) => {}
            Err(Error::Io(error))
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        let events: Vec<Value> = {
            let mut state = lock(state);
            if state.socket != own {
                return Ok(());
            }
            let from = state.told.min(state.events.len());
            if state.told != usize::MAX {
                state.told = state.events.len();
            }
            let events = state.events.iter().enumerate().skip(from);
            events
                .map(|(number, event)| sent(kind, number, event))
                .filter(|event| !state.is_confirmed(event))
                .collect()
        };
        for event in events {
            tell(&mut socket, &event)?;
        }
    }
}

/// The wire form of an event.
fn sent(kind: Kind, number: usize, event: &Value) -> Value {
    let mut event = event.clone();
    match kind {
        Kind::Slack => event["envelope_id"] = json!(format!("e{number}")),
        Kind::Discord => (event["op"], event["s"]) = (json!(0), json!(number + 2)),
    }
    event
}

/// Handles a message; returns the replies.
fn hear(kind: Kind, address: SocketAddr, heard: &Value, state: &Mutex<State>) -> Vec<Value> {
    let mut state = lock(state);
    if kind == Kind::Slack {
        state.confirmed.extend(heard["envelope_id"].as_str().map(str::to_owned));
        return Vec::new();
    }
    match heard["op"].as_u64() {
        Some(1) => vec![json!({"op": 11})],
        Some(2) if heard["d"]["token"] == TOKENS[0] => {
            state.identified += 1;
            state.told = state.events.len();
            vec![json!({"op": 0, "s": 1, "t": "READY", "d": {
                "session_id": "s1", "resume_gateway_url": format!("ws://{address}"), "application": {"id": "4242"},
            }})]
        }
        Some(6) if heard["d"]["token"] == TOKENS[0] && heard["d"]["session_id"] == "s1" => {
            let seq = heard["d"]["seq"].as_u64().and_then(|seq| usize::try_from(seq).ok()).expect("a number");
            state.told = state.events.len();
            let missed = state.events.iter().enumerate().skip(seq.saturating_sub(1));
            let mut missed: Vec<Value> = missed.map(|(number, event)| sent(kind, number, event)).collect();
            missed.push(json!({"op": 0, "s": state.events.len() + 1, "t": "RESUMED", "d": {}}));
            missed
        }
        other => panic!("{other:?} is not of this protocol"),
    }
}

/// The status and body of the answer, or nothing if it is lost.
fn call(kind: Kind, address: SocketAddr, state: &Mutex<State>, seen: &Seen) -> Option<(u16, Value)> {
    let path = seen.line.split(' ').nth(1).unwrap_or_default().trim_start_matches("/api");
    let method = path.split('?').next().unwrap_or_default();
    let token = if method == "/apps.connections.open" { TOKENS[1] } else { TOKENS[0] };
    let authorization = seen.header("authorization").unwrap_or_default();
    if authorization.split(' ').nth(1) != Some(token) {
        return Some((401, json!({"ok": false, "error": "invalid_auth"})));
    }
    let params: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let mut state = lock(state);
    let parts: Vec<&str> = method.trim_start_matches('/').split('/').collect();
    let answer = match parts.as_slice() {
        ["auth.test"] => json!({"user_id": "UBOT", "user": "aethon", "bot_id": "B1", "team": "Home"}),
        ["apps.connections.open"] => json!({"url": format!("ws://{address}/?ticket=1")}),
        ["users", "@me"] => json!({"id": "99", "username": "aethon"}),
        ["gateway", "bot"] => {
            json!({"url": format!("ws://{address}"), "session_start_limit": {"remaining": 900}})
        }
        ["applications", ..] => json!([]),
        ["channels", _, "typing"] => return Some((204, Value::Null)),
        ["interactions", _, _, "callback"] => {
            state.answers.push(params["data"]["content"].as_str().unwrap_or_default().to_owned());
            return Some((204, Value::Null));
        }
        ["chat.postEphemeral"] => {
            state.answers.push(params["text"].as_str().unwrap_or_default().to_owned());
            json!({})
        }
        ["chat.update"] => state.edit(params["ts"].as_str().unwrap_or_default(), posted(kind, &params)),
        ["channels", _, "messages", id] => state.edit(id, posted(kind, &params)),
        ["chat.postMessage"] | ["channels", _, "messages"] if params["thread_ts"].is_string() => {
            state.threads.push(params["thread_ts"].as_str().unwrap_or_default().to_owned());
            state.post(kind, posted(kind, &params))?
        }
        ["chat.postMessage"] | ["channels", _, "messages"] => state.post(kind, posted(kind, &params))?,
        ["conversations.replies"] => {
            let is_there = |message: &&Value| {
                let root = message["thread_ts"].as_str().or(message["ts"].as_str()).unwrap_or_default();
                path.contains(&format!("ts={root}&"))
            };
            json!({"messages": state.thread.iter().filter(is_there).collect::<Vec<_>>()})
        }
        ["conversations.history"] => {
            let known =
                state.posted.iter().map(|posted| json!({"client_msg_id": posted.name, "ts": posted.id}));
            json!({"messages": known.collect::<Vec<_>>()})
        }
        _ => panic!("{path} is not of this protocol"),
    };
    let mut answer = answer;
    if kind == Kind::Slack {
        answer["ok"] = json!(true);
    }
    Some((200, answer))
}

fn posted(kind: Kind, params: &Value) -> PostedMessage {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (words, name, button) = match kind {
        Kind::Slack => (text(&params["text"]), text(&params["client_msg_id"]), "value"),
        Kind::Discord => (text(&params["content"]), text(&params["nonce"]), "custom_id"),
    };
    assert!(!words.trim().is_empty(), "{params}");
    let rows = list(&params["blocks"]).into_iter().chain(list(&params["components"]));
    let buttons = rows.flat_map(|row| list(&row["elements"]).into_iter().chain(list(&row["components"])));
    let buttons = buttons.map(|one| text(&one[button])).collect();
    PostedMessage { id: String::new(), name, texts: vec![words], buttons }
}

impl State {
    fn post(&mut self, kind: Kind, mut posted: PostedMessage) -> Option<Value> {
        let known = self.posted.iter().find(|known| known.name == posted.name).map(|known| known.id.clone());
        // Slack does not deduplicate messages.
        let id = known.filter(|_| kind == Kind::Discord).unwrap_or_else(|| {
            self.next += 1;
            posted.id = (9000 + self.next).to_string();
            let id = posted.id.clone();
            self.posted.push(posted);
            id
        });
        if self.losses > 0 {
            self.losses -= 1;
            return None;
        }
        Some(json!({"id": id, "ts": id, "channel": CHAT[0]}))
    }

    fn edit(&mut self, id: &str, new: PostedMessage) -> Value {
        let old = self.posted.iter_mut().find(|posted| posted.id == id).expect("a message to edit");
        old.texts.extend(new.texts);
        old.buttons = new.buttons;
        json!({"id": id})
    }

    fn is_confirmed(&self, event: &Value) -> bool {
        event["envelope_id"].as_str().is_some_and(|id| self.confirmed.iter().any(|confirmed| confirmed == id))
    }
}

fn tell(socket: &mut WebSocket<TcpStream>, value: &Value) -> Result<(), Error> {
    socket.send(Message::text(value.to_string()))
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("the clock is past 1970").as_secs()
}

/// Formats a time of this century like Discord.
fn rfc3339(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let is_leap = |year: u64| year.is_multiple_of(4);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    let february = 28 + u64::from(is_leap(year));
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.000000+00:00", days + 1)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
