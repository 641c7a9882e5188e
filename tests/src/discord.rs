//! Discord on loopback: a gateway whose sessions outlive their sockets, and a REST API that enforces rate limits, deduplicates
//! messages by nonce for some minutes, and refuses the same requests as the real one.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::connection_faults::{ConnectionFault, ConnectionFaults};
use crate::eventually;
use crate::stub::Seen;
use crate::time::{rfc3339, since_1970};

/// The bot's token.
pub const TOKEN: &str = "canary.of.the-discord-token";
/// The bot's id.
pub const US: &str = "99";

/// The heartbeat interval in milliseconds.
const BEAT: u64 = 20_000;
/// How long a nonce is remembered.
const KNOWN: Duration = Duration::from_secs(180);
/// The rate limit of a channel: so many posts in so much time.
const BUCKET: (usize, Duration) = (5, Duration::from_secs(5));

/// A message of the bot in a channel.
#[derive(Debug, Clone)]
pub struct PostedMessage {
    /// Its id.
    pub id: String,
    /// The channel.
    pub channel: String,
    /// Its versions, oldest first; the last one is shown.
    pub texts: Vec<String>,
}

impl PostedMessage {
    /// Its current text.
    pub fn text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }
}

/// The service.
pub struct Discord {
    /// The address of its REST API.
    pub address: SocketAddr,
    /// The broken connections.
    pub faults: Arc<ConnectionFaults>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    gateway: String,
    next: u64,
    /// The session and its events so far.
    session: Option<String>,
    events: Vec<Value>,
    sessions: usize,
    /// The newest socket.
    socket: usize,
    /// All messages of people, by channel.
    said: BTreeMap<String, Vec<Value>>,
    posted: Vec<PostedMessage>,
    /// For each nonce the time and id of its message.
    nonces: HashMap<String, (Instant, String)>,
    /// The times of posts, by channel.
    posts: HashMap<String, VecDeque<Instant>>,
    /// The number of posts over the rate limit.
    overdrawn: usize,
}

impl Discord {
    /// Starts the service.
    pub fn start() -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").expect("a port for Discord");
        let (rest, gateway) = (listen(), listen());
        let address = rest.local_addr().expect("it has an address");
        let (state, faults): (Arc<Mutex<State>>, Arc<ConnectionFaults>) = (Arc::default(), Arc::default());
        lock(&state).gateway = format!("ws://{}", gateway.local_addr().expect("it has an address"));
        // Neither is joined; they end with the test process.
        for (listener, serve) in [(rest, answer as Serve), (gateway, talk as Serve)] {
            let shared = (state.clone(), faults.clone());
            std::thread::spawn(move || {
                for connection in listener.incoming().flatten() {
                    let (state, faults) = shared.clone();
                    std::thread::spawn(move || serve(connection, &state, &faults));
                }
            });
        }
        Self { address, faults, state }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "channels.discord.enabled=true".into(),
            format!("channels.discord.api_base=http://{}/api/v10", self.address),
            format!("channels.discord.token={TOKEN}"),
        ]
    }

    /// Writes a private message as this person.
    pub fn say(&self, channel: &str, person: &str, text: &str) {
        let mut state = lock(&self.state);
        let id = state.number();
        let message = json!({
            "id": id, "channel_id": channel, "type": 0, "content": text, "timestamp": rfc3339(since_1970().as_secs()), "mentions": [],
            "author": {"id": person, "username": format!("user{person}")}, "attachments": [],
        });
        state.said.entry(channel.to_owned()).or_default().push(message.clone());
        state.tell("MESSAGE_CREATE", message);
    }

    /// The bot's messages in a channel.
    pub fn posted(&self, channel: &str) -> Vec<PostedMessage> {
        lock(&self.state).posted.iter().filter(|posted| posted.channel == channel).cloned().collect()
    }

    /// Returns whether a message there ends with this.
    pub fn shows(&self, channel: &str, ending: &str) -> bool {
        let state = lock(&self.state);
        state.posted.iter().rev().any(|posted| posted.channel == channel && posted.text().ends_with(ending))
    }

    /// How often the bot posted although Discord had reported that no posts were left.
    pub fn overdrawn(&self) -> usize {
        lock(&self.state).overdrawn
    }

    /// Waits until the bot has a session.
    pub fn await_session(&self) {
        eventually("the bot has a session", || lock(&self.state).session.as_ref().map(drop));
    }
}

type Serve = fn(TcpStream, &Mutex<State>, &ConnectionFaults);

impl State {
    fn number(&mut self) -> String {
        self.next += 1;
        (1_000_000 + self.next).to_string()
    }

    /// Adds an event to the session; without a session it is lost.
    fn tell(&mut self, kind: &str, data: Value) {
        if self.session.is_some() {
            let seq = self.events.len() + 1;
            self.events.push(json!({"op": 0, "s": seq, "t": kind, "d": data}));
        }
    }

    /// The number of posts left in a channel, and the seconds until the limit is reset.
    fn left(&mut self, channel: &str) -> (usize, f64) {
        let (most, time) = BUCKET;
        let (now, posts) = (Instant::now(), self.posts.entry(channel.to_owned()).or_default());
        posts.retain(|at| now - *at < time);
        let resets = posts.front().map_or(Duration::ZERO, |first| time - (now - *first));
        (most.saturating_sub(posts.len()), resets.as_secs_f64())
    }

    fn post(&mut self, channel: &str, message: &Value) -> Answer {
        if let Err(wrong) = checked(message) {
            return refusal(400, 50035, wrong);
        }
        let (left, resets) = self.left(channel);
        if left == 0 {
            self.overdrawn += 1;
            return Answer::new(429, json!({"message": "slow down", "retry_after": resets, "global": false}));
        }
        self.posts.entry(channel.to_owned()).or_default().push_back(Instant::now());
        let nonce = message["nonce"].as_str().unwrap_or_default().to_owned();
        let known = self.nonces.get(&nonce).filter(|(at, _)| at.elapsed() < KNOWN).map(|(_, id)| id.clone());
        let id = known.unwrap_or_else(|| {
            let id = self.number();
            let texts = vec![text(message)];
            self.posted.push(PostedMessage { id: id.clone(), channel: channel.to_owned(), texts });
            id
        });
        self.nonces.insert(nonce, (Instant::now(), id.clone()));
        let headers = format!(
            "X-RateLimit-Remaining: {}\r\nX-RateLimit-Reset-After: {resets:.3}\r\n",
            left.saturating_sub(1)
        );
        Answer { status: 200, headers, body: json!({"id": id, "channel_id": channel}) }
    }

    fn edit(&mut self, id: &str, message: &Value) -> Answer {
        if let Err(wrong) = checked(message) {
            return refusal(400, 50035, wrong);
        }
        match self.posted.iter_mut().rev().find(|posted| posted.id == id) {
            Some(posted) => {
                posted.texts.push(text(message));
                Answer::new(200, json!({"id": id}))
            }
            None => refusal(404, 10008, "Unknown Message"),
        }
    }

    /// The messages in a channel after the given one, newest first.
    fn history(&self, channel: &str, query: &str) -> Answer {
        let number = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value);
            value.and_then(|value| value.parse::<u64>().ok())
        };
        let after = number("after").unwrap_or(0);
        let limit = number("limit").map_or(50, |limit| limit.min(100) as usize);
        let of_channel = self.said.get(channel).into_iter().flatten();
        let is_newer = |message: &&Value| {
            message["id"].as_str().and_then(|id| id.parse::<u64>().ok()).is_some_and(|id| id > after)
        };
        let mut page: Vec<&Value> = of_channel.filter(is_newer).take(limit).collect();
        page.reverse();
        Answer::new(200, json!(page))
    }
}

/// The response to a request.
struct Answer {
    status: u16,
    headers: String,
    body: Value,
}

impl Answer {
    fn new(status: u16, body: Value) -> Self {
        Self { status, headers: String::new(), body }
    }
}

fn refusal(status: u16, code: u64, why: &str) -> Answer {
    Answer::new(status, json!({"message": why, "code": code}))
}

/// Answers a REST request.
fn answer(connection: TcpStream, state: &Mutex<State>, faults: &ConnectionFaults) {
    let Ok(seen) = Seen::read(&connection) else { return };
    let fault = faults.draw();
    if fault == Some(ConnectionFault::Before) {
        return;
    }
    let answer = call(state, &seen);
    if fault == Some(ConnectionFault::After) {
        return;
    }
    let body = if answer.status == 204 { String::new() } else { answer.body.to_string() };
    let head = format!(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.headers,
        body.len()
    );
    let mut connection = connection;
    // The client may be gone.
    let _ = connection.write_all((head + &body).as_bytes());
}

fn call(state: &Mutex<State>, seen: &Seen) -> Answer {
    let (method, target) = seen.line.split_once(' ').unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Some(path) = path.strip_prefix("/api/v10/") else { return refusal(404, 0, "404: Not Found") };
    let is_program = seen.header("user-agent").is_some_and(|agent| agent.starts_with("DiscordBot (https://"));
    if seen.header("authorization") != Some(&format!("Bot {TOKEN}")) || !is_program {
        return refusal(401, 0, "401: Unauthorized");
    }
    let body = || serde_json::from_slice(&seen.body).unwrap_or(Value::Null);
    let mut state = lock(state);
    match (method, path.split('/').collect::<Vec<_>>().as_slice()) {
        ("GET", ["users", "@me"]) => Answer::new(200, json!({"id": US, "username": "aethon", "bot": true})),
        ("GET", ["gateway", "bot"]) => Answer::new(
            200,
            json!({"url": state.gateway, "shards": 1, "session_start_limit": {
                "total": 1000, "remaining": 1000_usize.saturating_sub(state.sessions), "reset_after": 60_000,
            }}),
        ),
        ("PUT", ["applications", "4242", "commands"]) => Answer::new(200, json!([])),
        ("POST", ["channels", _, "typing"]) => Answer::new(204, Value::Null),
        ("POST", ["channels", channel, "messages"]) => state.post(channel, &body()),
        ("PATCH", ["channels", _, "messages", message]) => state.edit(message, &body()),
        ("GET", ["channels", channel, "messages"]) => state.history(channel, query),
        _ => refusal(404, 0, "404: Not Found"),
    }
}

/// Serves a gateway socket.
fn talk(connection: TcpStream, state: &Mutex<State>, faults: &ConnectionFaults) {
    let _ = connection.set_read_timeout(Some(crate::http::TIMEOUT));
    let Ok(mut socket) = tungstenite::accept(connection) else { return };
    // The read time-out is the interval between checks for new events.
    let _ = socket.get_ref().set_read_timeout(Some(Duration::from_millis(10)));
    let own = {
        let mut state = lock(state);
        state.socket += 1;
        state.socket
    };
    if !send(&mut socket, &json!({"op": 10, "d": {"heartbeat_interval": BEAT}})) {
        return;
    }
    let mut beaten = Instant::now();
    let mut told: Option<usize> = None;
    while beaten.elapsed() < Duration::from_millis(BEAT * 3 / 2) {
        match hear(&mut socket) {
            Heard::Nothing => {}
            Heard::End => return,
            Heard::Text(heard) => {
                beaten = if heard["op"] == 1 { Instant::now() } else { beaten };
                match greet(state, &heard, own) {
                    Greeting::From(place) => told = Some(place),
                    Greeting::Say(answer) if !send(&mut socket, &answer) => return,
                    Greeting::Close => return,
                    Greeting::Say(_) | Greeting::Nothing => {}
                }
            }
        }
        let Some(place) = &mut told else { continue };
        let news = {
            let state = lock(state);
            if state.socket != own {
                return;
            }
            state.events.get(*place..).unwrap_or_default().to_vec()
        };
        for event in news {
            let fault = faults.draw();
            if fault == Some(ConnectionFault::Before)
                || !send(&mut socket, &event)
                || fault == Some(ConnectionFault::After)
            {
                return;
            }
            *place += 1;
        }
    }
}

enum Heard {
    Nothing,
    Text(Value),
    End,
}

fn hear(socket: &mut WebSocket<TcpStream>) -> Heard {
    match socket.read() {
        Ok(Message::Text(text)) => serde_json::from_str(&text).map_or(Heard::End, Heard::Text),
        Ok(Message::Close(_)) => Heard::End,
        Ok(_) => Heard::Nothing,
        Err(tungstenite::Error::Io(error))
            if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
        {
            Heard::Nothing
        }
        Err(_) => Heard::End,
    }
}

enum Greeting {
    Nothing,
    Say(Value),
    /// Send the socket events from this one on.
    From(usize),
    Close,
}

fn greet(state: &Mutex<State>, heard: &Value, own: usize) -> Greeting {
    let mut state = lock(state);
    let is_known = heard["d"]["token"] == TOKEN;
    match heard["op"].as_u64() {
        Some(1) => Greeting::Say(json!({"op": 11})),
        Some(2 | 6) if !is_known => Greeting::Close,
        Some(2) => {
            state.sessions += 1;
            let session = format!("session{}", state.sessions);
            let gateway = state.gateway.clone();
            (state.session, state.socket) = (Some(session.clone()), own);
            state.events.clear();
            state.tell(
                "READY",
                json!({
                    "session_id": session, "resume_gateway_url": gateway, "application": {"id": "4242"},
                    "user": {"id": US, "username": "aethon"},
                }),
            );
            Greeting::From(0)
        }
        Some(6) => {
            let seq = heard["d"]["seq"].as_u64().map(|seq| seq as usize);
            let place = seq.filter(|seq| *seq <= state.events.len());
            let is_ours = state.session.as_deref() == heard["d"]["session_id"].as_str();
            let Some(place) = place.filter(|_| is_ours) else {
                return Greeting::Say(json!({"op": 9, "d": false}));
            };
            state.socket = own;
            state.tell("RESUMED", json!({}));
            Greeting::From(place)
        }
        _ => Greeting::Nothing,
    }
}

fn send(socket: &mut WebSocket<TcpStream>, value: &Value) -> bool {
    socket.send(Message::text(value.to_string())).is_ok()
}

fn checked(message: &Value) -> Result<(), &'static str> {
    let content = text(message);
    if content.trim().is_empty() || content.encode_utf16().count() > 2000 {
        return Err("the content is empty or too long");
    }
    if message["allowed_mentions"] != json!({"parse": []}) {
        return Err("somebody could be called");
    }
    if message["nonce"].as_str().is_some_and(|nonce| nonce.len() > 25 || message["enforce_nonce"] != true) {
        return Err("the nonce is none");
    }
    Ok(())
}

fn text(message: &Value) -> String {
    message["content"].as_str().unwrap_or_default().to_owned()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
