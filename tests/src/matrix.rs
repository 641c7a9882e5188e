//! A Matrix homeserver on loopback that follows the client-server API: long-polling syncs that leave gaps, transaction ids that
//! deduplicate messages, edits as separate events, invitations, tokens.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection_faults::{ConnectionFault, ConnectionFaults};
use crate::eventually;
use crate::stub::Seen;
use crate::time::since_1970;

/// The access token of the assistant's account.
pub const TOKEN: &str = "syt_canary_of_the_matrix_token";
/// The assistant's account.
pub const US: &str = "@aethon:test";

/// The maximum size of an event, in bytes.
const MAX_EVENT: usize = 65_536;

/// A message of the assistant in a room.
#[derive(Debug, Clone)]
pub struct PostedMessage {
    /// Its event id.
    pub id: String,
    /// The room.
    pub room: String,
    /// Its versions, oldest first; the last one is shown.
    pub texts: Vec<String>,
}

impl PostedMessage {
    /// Its current text.
    pub fn text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }
}

/// The homeserver.
pub struct Matrix {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The broken connections.
    pub faults: Arc<ConnectionFaults>,
    state: Arc<Shared>,
}

type Shared = (Mutex<State>, Condvar);

#[derive(Default)]
struct State {
    /// All events, each with its room. A position in the log is a number of events.
    log: Vec<(String, Value)>,
    /// The rooms the account is in, with the other person in each.
    rooms: BTreeMap<String, String>,
    /// Rooms with a third person.
    crowded: Vec<String>,
    /// Invitations: their position in the log, the room, and who sent them.
    invitations: Vec<(usize, String, String)>,
    /// The event of each transaction.
    transactions: HashMap<String, String>,
    posted: Vec<PostedMessage>,
    syncs: usize,
}

impl Matrix {
    /// Starts the homeserver.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for Matrix");
        let address = listener.local_addr().expect("it has an address");
        let (state, faults): (Arc<Shared>, Arc<ConnectionFaults>) = (Arc::default(), Arc::default());
        let shared = (state.clone(), faults.clone());
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (state, faults) = shared.clone();
                std::thread::spawn(move || serve(&connection, &state, &faults));
            }
        });
        Self { address, faults, state }
    }

    /// The settings with which a server uses it.
    pub fn settings(&self) -> Vec<String> {
        vec![
            "channels.matrix.enabled=true".into(),
            format!("channels.matrix.api_base=http://{}", self.address),
            format!("channels.matrix.token={TOKEN}"),
        ]
    }

    /// Creates a private room of the account with a person.
    pub fn room(&self, room: &str, person: &str) {
        lock(&self.state.0).rooms.insert(room.to_owned(), person.to_owned());
    }

    /// Invites the account to a room as this person.
    pub fn invite(&self, room: &str, person: &str) {
        let mut state = lock(&self.state.0);
        let place = state.log.len();
        // An invitation advances the sync position like any event.
        state.log.push((String::new(), Value::Null));
        state.invitations.push((place, room.to_owned(), person.to_owned()));
        self.state.1.notify_all();
    }

    /// Writes in a room as its person. Returns the event.
    pub fn say(&self, room: &str, text: &str) -> String {
        let mut state = lock(&self.state.0);
        let person = state.rooms.get(room).expect("there is a room").clone();
        let id = state.add(room, &person, json!({"msgtype": "m.text", "body": text}));
        self.state.1.notify_all();
        id
    }

    /// Makes a room a group: another person is in it too.
    pub fn crowd(&self, room: &str) {
        lock(&self.state.0).crowded.push(room.to_owned());
    }

    /// Writes a message with this content in a room as its person. Returns the event.
    pub fn put(&self, room: &str, content: Value) -> String {
        let mut state = lock(&self.state.0);
        let person = state.rooms.get(room).expect("there is a room").clone();
        let id = state.add(room, &person, content);
        self.state.1.notify_all();
        id
    }

    /// The assistant's messages in a room.
    pub fn posted(&self, room: &str) -> Vec<PostedMessage> {
        lock(&self.state.0).posted.iter().filter(|posted| posted.room == room).cloned().collect()
    }

    /// Returns whether a message there ends with this.
    pub fn shows(&self, room: &str, ending: &str) -> bool {
        let state = lock(&self.state.0);
        state.posted.iter().rev().any(|posted| posted.room == room && posted.text().ends_with(ending))
    }

    /// Waits until the account waits in a sync.
    pub fn await_sync(&self) {
        eventually("the account syncs", || (lock(&self.state.0).syncs > 1).then_some(()));
    }
}

impl State {
    fn add(&mut self, room: &str, sender: &str, content: Value) -> String {
        let id = format!("${}", self.log.len());
        let event = json!({
            "type": "m.room.message", "event_id": id, "sender": sender, "content": content,
            "origin_server_ts": u64::try_from(since_1970().as_millis()).expect("a time fits"),
        });
        self.log.push((room.to_owned(), event));
        id
    }

    /// Accepts a message of the account, once per transaction.
    fn send(&mut self, room: &str, transaction: &str, content: Value) -> Result<String, &'static str> {
        if !self.rooms.contains_key(room) {
            return Err("M_FORBIDDEN");
        }
        checked(&content)?;
        let key = format!("{room} {transaction}");
        if let Some(event) = self.transactions.get(&key) {
            return Ok(event.clone());
        }
        let id = self.add(room, US, content.clone());
        self.transactions.insert(key, id.clone());
        if content["m.relates_to"]["rel_type"] == "m.replace" {
            let of = content["m.relates_to"]["event_id"].as_str().ok_or("M_BAD_JSON")?;
            let posted = self.posted.iter_mut().rev().find(|posted| posted.id == of);
            let posted = posted.ok_or("M_NOT_FOUND")?;
            posted.texts.push(text(&content["m.new_content"]));
        } else {
            self.posted.push(PostedMessage {
                id: id.clone(),
                room: room.to_owned(),
                texts: vec![text(&content)],
            });
        }
        Ok(id)
    }
}

fn serve(connection: &TcpStream, shared: &Shared, faults: &ConnectionFaults) {
    let Ok(seen) = Seen::read(connection) else { return };
    let fault = faults.draw();
    if fault == Some(ConnectionFault::Before) {
        return;
    }
    let (status, answer) = if seen.header("authorization") == Some(&format!("Bearer {TOKEN}")) {
        call(shared, &seen)
    } else {
        failure(401, "M_UNKNOWN_TOKEN")
    };
    if fault == Some(ConnectionFault::After) {
        return;
    }
    let body = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut connection = connection;
    // The client may be gone.
    let _ = connection.write_all((head + &body).as_bytes());
}

fn call(shared: &Shared, seen: &Seen) -> (u16, Value) {
    let (method, target) = seen.line.split_once(' ').unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let Some(path) = path.strip_prefix("/_matrix/client/v3/") else { return failure(404, "M_UNRECOGNIZED") };
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (method, parts.as_slice()) {
        ("GET", ["account", "whoami"]) => (200, json!({"user_id": US})),
        ("GET", ["sync"]) => sync(shared, query),
        ("GET", ["rooms", room, "joined_members"]) => {
            let state = lock(&shared.0);
            let Some(person) = state.rooms.get(*room) else { return failure(403, "M_FORBIDDEN") };
            let mut joined = json!({US: {}, (person.as_str()): {}});
            if state.crowded.iter().any(|crowded| crowded == room) {
                joined["@third:test"] = json!({});
            }
            (200, json!({"joined": joined}))
        }
        ("GET", ["profile", US, "displayname"]) => (200, json!({"displayname": "Aethon Helper"})),
        ("GET", ["rooms", _, "event", id]) => {
            let state = lock(&shared.0);
            let found = state.log.iter().find(|(_, event)| event["event_id"] == **id).cloned();
            found.map_or_else(|| failure(404, "M_NOT_FOUND"), |(_, event)| (200, event))
        }
        ("GET", ["rooms", room, "messages"]) => (200, gap(&lock(&shared.0), room, query)),
        ("POST", ["rooms", room, "join"]) => {
            let mut state = lock(&shared.0);
            let invited = state.invitations.iter().position(|(_, of, _)| of == room);
            let Some(invited) = invited else { return failure(403, "M_FORBIDDEN") };
            let (_, _, person) = state.invitations.remove(invited);
            state.rooms.insert((*room).to_owned(), person);
            (200, json!({"room_id": room}))
        }
        ("PUT", ["rooms", _, "typing", US]) => (200, json!({})),
        ("PUT", ["rooms", room, "send", "m.room.message", transaction]) => {
            let content = serde_json::from_slice(&seen.body).unwrap_or_default();
            if seen.body.len() > MAX_EVENT - 1000 {
                return failure(413, "M_TOO_LARGE");
            }
            let sent = lock(&shared.0).send(room, transaction, content);
            shared.1.notify_all();
            match sent {
                Ok(id) => (200, json!({"event_id": id})),
                Err(code) => failure(400, code),
            }
        }
        _ => failure(404, "M_UNRECOGNIZED"),
    }
}

fn sync(shared: &Shared, query: &str) -> (u16, Value) {
    let Ok(filter) = serde_json::from_str::<Value>(&value(query, "filter").unwrap_or_default()) else {
        return failure(400, "M_INVALID_PARAM");
    };
    let limit = filter["room"]["timeline"]["limit"].as_u64().map_or(10, |limit| limit as usize);
    let since = value(query, "since").and_then(|since| since.strip_prefix('s')?.parse::<usize>().ok());
    let patience = value(query, "timeout").and_then(|timeout| timeout.parse().ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_millis(patience);
    let mut state = lock(&shared.0);
    state.syncs += 1;
    shared.1.notify_all();
    while since == Some(state.log.len()) && Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        state = shared.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    let (from, all) = (since.unwrap_or(0).min(state.log.len()), state.log.len());
    let mut join = json!({});
    for room in state.rooms.keys() {
        let of_room: Vec<(usize, &Value)> = (from..)
            .zip(&state.log[from..])
            .filter(|(_, (of, _))| of == room)
            .map(|(at, (_, event))| (at, event))
            .collect();
        let shown = &of_room[of_room.len().saturating_sub(limit)..];
        let Some((first, _)) = shown.first() else { continue };
        let events: Vec<&Value> = shown.iter().map(|(_, event)| *event).collect();
        let is_limited = shown.len() < of_room.len();
        join[room] = json!({
            "timeline": {"events": events, "limited": is_limited, "prev_batch": format!("p{first}")},
        });
    }
    let mut invite = json!({});
    for (_, room, person) in state.invitations.iter().filter(|(place, _, _)| *place >= from) {
        invite[room] = json!({"invite_state": {"events": [{
            "type": "m.room.member", "state_key": US, "sender": person, "content": {"membership": "invite"},
        }]}});
    }
    (200, json!({"next_batch": format!("s{all}"), "rooms": {"join": join, "invite": invite}}))
}

/// The events that a sync left out, newest first.
fn gap(state: &State, room: &str, query: &str) -> Value {
    let place = |name: &str| {
        let place = value(query, name).unwrap_or_default();
        place.trim_start_matches(['s', 'p']).parse::<usize>().unwrap_or(0)
    };
    let (from, to) = (place("from").min(state.log.len()), place("to"));
    let limit = value(query, "limit").and_then(|limit| limit.parse().ok()).unwrap_or(10);
    let of_room = (to..from).rev().filter(|at| state.log[*at].0 == room);
    let places: Vec<usize> = of_room.take(limit).collect();
    let chunk: Vec<&Value> = places.iter().map(|at| &state.log[*at].1).collect();
    match places.last() {
        Some(last) => json!({"chunk": chunk, "end": format!("p{last}")}),
        None => json!({"chunk": []}),
    }
}

fn checked(content: &Value) -> Result<(), &'static str> {
    let is_edit = content["m.relates_to"]["rel_type"] == "m.replace";
    let shown = if is_edit { &content["m.new_content"] } else { content };
    if shown["msgtype"] != "m.text" || text(shown).trim().is_empty() || !content["m.mentions"].is_object() {
        return Err("M_BAD_JSON");
    }
    let is_html = shown["format"] == "org.matrix.custom.html";
    if shown["formatted_body"].is_string() != is_html {
        return Err("M_BAD_JSON");
    }
    Ok(())
}

fn text(content: &Value) -> String {
    content["body"].as_str().unwrap_or_default().to_owned()
}

/// A query parameter.
fn value(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn failure(status: u16, code: &str) -> (u16, Value) {
    (status, json!({"errcode": code, "error": "refused"}))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
