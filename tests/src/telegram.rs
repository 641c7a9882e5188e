//! Telegram's Bot API on loopback, as strict as the real one: it refuses what that refuses, with the same messages.
//!
//! Updates are long-polled and confirmed by an offset; a second poller gets the waiting one rejected with 409. Texts are checked
//! for length and entities, edits for an actual change, drafts for a private chat, and rich messages for length. Tests script
//! messages and button presses, and check the chats.

use std::collections::{HashMap, VecDeque};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection_faults::{ConnectionFault, ConnectionFaults};
use crate::eventually;
use crate::stub::Seen;

/// The token of the bot.
pub const TOKEN: &str = "123456:AAH-canary-of-the-telegram-token";
/// The bot's name.
pub const BOT: &str = "aethon_test_bot";

/// A message in a chat.
#[derive(Debug, Clone, Default)]
pub struct PostedMessage {
    /// Its id.
    pub id: i64,
    /// The chat.
    pub chat: i64,
    /// Its versions, oldest first; the last one is shown.
    pub texts: Vec<String>,
    /// Its current entities.
    pub entities: Vec<Value>,
    /// The values that its buttons send.
    pub buttons: Vec<String>,
    /// The message to which it replies.
    pub replies_to: Option<i64>,
}

impl PostedMessage {
    /// Its current text.
    pub fn text(&self) -> &str {
        self.texts.last().map_or("", String::as_str)
    }
}

/// The service.
pub struct Telegram {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The broken connections.
    pub faults: Arc<ConnectionFaults>,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    next: i64,
    updates: VecDeque<Value>,
    posted: Vec<PostedMessage>,
    /// The drafts shown: chat, draft id, text.
    drafts: Vec<(i64, i64, String)>,
    /// Whether it is an older server without drafts and rich messages.
    is_old: bool,
    /// The answers to button presses.
    answers: Vec<String>,
    /// The number of the newest poll.
    poller: u64,
    /// How often a poll began while another waited whose client was still there.
    conflicts: usize,
    /// The pending 429 responses, each with its seconds.
    refusals: VecDeque<u64>,
    /// Whether the person has blocked the bot.
    is_blocked: bool,
    /// The number of calls to carry out and then lose the answer of.
    losses: usize,
    calls: Vec<String>,
    /// The reactions that were set: message, and the emoji or nothing.
    reactions: Vec<(i64, String)>,
    /// Files that can be downloaded, by id.
    files: HashMap<i64, Vec<u8>>,
}

impl Telegram {
    /// Starts the service.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for Telegram");
        let address = listener.local_addr().expect("it has an address");
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        lock(&state.0).next = 1;
        let faults: Arc<ConnectionFaults> = Arc::default();
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
            "channels.telegram.enabled=true".into(),
            format!("channels.telegram.api_base=http://{}", self.address),
            format!("channels.telegram.token={TOKEN}"),
        ]
    }

    /// Writes a private message as this person. Returns the message's id.
    pub fn say(&self, person: i64, text: &str) -> i64 {
        self.say_as(person, &format!("user{person}"), text)
    }

    /// The same, with a name.
    pub fn say_as(&self, person: i64, name: &str, text: &str) -> i64 {
        let mut state = lock(&self.state.0);
        let id = state.number();
        let update = json!({"update_id": id, "message": {
            "message_id": id, "date": now(), "chat": {"id": person, "type": "private"},
            "from": {"id": person, "is_bot": false, "first_name": name, "username": name},
            "text": text,
        }});
        state.updates.push_back(update);
        self.state.1.notify_all();
        id
    }

    /// The reactions that were set: message, and the emoji or nothing.
    pub fn reactions(&self) -> Vec<(i64, String)> {
        lock(&self.state.0).reactions.clone()
    }

    /// Sends the last update once more under another id.
    pub fn repeat(&self, message: i64, person: i64, text: &str) {
        let mut state = lock(&self.state.0);
        let id = state.number();
        let update = json!({"update_id": id, "message": {
            "message_id": message, "date": now(), "chat": {"id": person, "type": "private"},
            "from": {"id": person, "is_bot": false}, "text": text,
        }});
        state.updates.push_back(update);
        self.state.1.notify_all();
    }

    /// Sends a private message of the owner's with these fields, which may also replace the usual ones. Returns its id.
    pub fn send(&self, person: i64, fields: &Value) -> i64 {
        self.bring("message", person, fields)
    }

    /// Edits a private text.
    pub fn edit(&self, message: i64, person: i64, text: &str) {
        let fields = json!({"message_id": message, "text": text, "edit_date": now()});
        self.bring("edited_message", person, &fields);
    }

    fn bring(&self, kind: &str, person: i64, fields: &Value) -> i64 {
        let mut state = lock(&self.state.0);
        let id = state.number();
        let mut message = json!({
            "message_id": id, "date": now(), "chat": {"id": person, "type": "private"},
            "from": {"id": person, "is_bot": false, "first_name": "user"},
        });
        for (name, value) in fields.as_object().expect("fields") {
            message[name] = value.clone();
        }
        let id = message["message_id"].as_i64().expect("an id");
        let update = state.next;
        state.updates.push_back(json!({"update_id": update, kind: message}));
        self.state.1.notify_all();
        id
    }

    /// Keeps a text file for download. Returns the field of a message with it.
    pub fn document(&self, name: &str, bytes: &[u8]) -> Value {
        let mut state = lock(&self.state.0);
        let id = state.number();
        state.files.insert(id, bytes.to_vec());
        json!({
            "file_id": format!("v{id}"), "file_unique_id": id.to_string(), "file_name": name,
            "mime_type": "text/plain", "file_size": bytes.len(),
        })
    }

    /// Waits until everything that was sent has been confirmed.
    pub fn await_confirmation(&self) {
        eventually("it is confirmed", || lock(&self.state.0).updates.is_empty().then_some(()));
    }

    /// Sends a private voice message of this many seconds; `size` is what Telegram reports.
    pub fn speak(&self, person: i64, (seconds, size): (u64, u64), bytes: &[u8]) {
        let mut state = lock(&self.state.0);
        let id = state.number();
        state.files.insert(id, bytes.to_vec());
        let voice = json!({
            "file_id": format!("v{id}"), "file_unique_id": id.to_string(), "duration": seconds,
            "mime_type": "audio/ogg", "file_size": size,
        });
        let update = json!({"update_id": id, "message": {
            "message_id": id, "date": now(), "chat": {"id": person, "type": "private"},
            "from": {"id": person, "is_bot": false, "first_name": "user"}, "voice": voice,
        }});
        state.updates.push_back(update);
        self.state.1.notify_all();
    }

    /// Presses a button as this person.
    pub fn press(&self, person: i64, message: &PostedMessage, data: &str) {
        let mut state = lock(&self.state.0);
        let id = state.number();
        let update = json!({"update_id": id, "callback_query": {
            "id": id.to_string(), "from": {"id": person, "is_bot": false}, "data": data,
            "message": {"message_id": message.id, "date": now(), "chat": {"id": message.chat, "type": "private"}},
        }});
        state.updates.push_back(update);
        self.state.1.notify_all();
    }

    /// Blocks the bot, or unblocks it; while blocked, everything it sends is refused.
    pub fn block(&self, is_blocked: bool) {
        lock(&self.state.0).is_blocked = is_blocked;
    }

    /// Refuses the next call that sends or edits, with this many seconds to wait.
    pub fn refuse(&self, seconds: u64) {
        lock(&self.state.0).refusals.push_back(seconds);
    }

    /// Accepts the next message but loses the answer.
    pub fn lose_answer(&self) {
        lock(&self.state.0).losses += 1;
    }

    /// Becomes an older server without drafts and rich messages.
    pub fn age(&self) {
        lock(&self.state.0).is_old = true;
    }

    /// The drafts shown in a chat: id and text, oldest first.
    pub fn drafts(&self, chat: i64) -> Vec<(i64, String)> {
        let state = lock(&self.state.0);
        let drafts = state.drafts.iter().filter(|draft| draft.0 == chat);
        drafts.map(|(_, number, text)| (*number, text.clone())).collect()
    }

    /// The messages in a chat.
    pub fn chat(&self, chat: i64) -> Vec<PostedMessage> {
        lock(&self.state.0).posted.iter().filter(|posted| posted.chat == chat).cloned().collect()
    }

    /// The messages in all chats.
    pub fn posted(&self) -> Vec<PostedMessage> {
        lock(&self.state.0).posted.clone()
    }

    /// Returns whether a message in a chat ends with this.
    pub fn shows(&self, chat: i64, ending: &str) -> bool {
        let state = lock(&self.state.0);
        state.posted.iter().rev().any(|posted| posted.chat == chat && posted.text().ends_with(ending))
    }

    /// The answers to button presses.
    pub fn answers(&self) -> Vec<String> {
        lock(&self.state.0).answers.clone()
    }

    /// The methods called, in order.
    pub fn calls(&self) -> Vec<String> {
        lock(&self.state.0).calls.clone()
    }

    /// How often two clients polled at the same time.
    pub fn conflicts(&self) -> usize {
        lock(&self.state.0).conflicts
    }

    /// Waits until the bot polls.
    pub fn await_poll(&self) {
        eventually("the bot polls", || (lock(&self.state.0).poller > 0).then_some(()));
    }

    /// Waits for a matching message in a chat.
    pub fn await_message(
        &self,
        chat: i64,
        what: &str,
        fits: impl Fn(&PostedMessage) -> bool,
    ) -> PostedMessage {
        eventually(what, || self.chat(chat).into_iter().find(|posted| fits(posted)))
    }
}

impl State {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
}

fn serve(connection: &TcpStream, shared: &(Mutex<State>, Condvar), faults: &ConnectionFaults) {
    let Ok(seen) = Seen::read(connection) else { return };
    let fault = faults.draw();
    if fault == Some(ConnectionFault::Before) {
        return;
    }
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    if let Some(file) = path.strip_prefix(&format!("/file/bot{TOKEN}/voice/")) {
        let bytes = file.parse().ok().and_then(|id: i64| lock(&shared.0).files.get(&id).cloned());
        let status = if bytes.is_some() { 200 } else { 404 };
        return write(connection, (status, "application/octet-stream"), &bytes.unwrap_or_default());
    }
    let (status, answer) = match path.strip_prefix(&format!("/bot{TOKEN}/")) {
        None => (401, failure(401, "Unauthorized")),
        Some(method) => {
            let params = serde_json::from_slice(&seen.body).unwrap_or(Value::Null);
            let method = method.to_owned();
            lock(&shared.0).calls.push(method.clone());
            let answer = call(shared, &method, &params);
            if method == "getUpdates" && answer["error_code"] == 409 && is_open(connection) {
                lock(&shared.0).conflicts += 1;
            }
            if matches!(method.as_str(), "sendMessage" | "sendRichMessage")
                && answer["ok"] == true
                && take_loss(shared)
            {
                return;
            }
            (answer["error_code"].as_u64().unwrap_or(200), answer)
        }
    };
    if fault == Some(ConnectionFault::After) {
        return;
    }
    write(connection, (status, "application/json"), answer.to_string().as_bytes());
}

fn write(mut connection: &TcpStream, (status, kind): (u64, &str), body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // The client may be gone.
    let _ = connection.write_all(&[head.as_bytes(), body].concat());
}

/// Returns whether the client has not closed the connection.
fn is_open(connection: &TcpStream) -> bool {
    let peeked = connection.set_nonblocking(true).and_then(|()| connection.peek(&mut [0]));
    // The answer is still written to it.
    let is_blocking = connection.set_nonblocking(false).is_ok();
    is_blocking && peeked.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |length| length > 0)
}

fn take_loss(shared: &(Mutex<State>, Condvar)) -> bool {
    let mut state = lock(&shared.0);
    let is_lost = state.losses > 0;
    state.losses -= usize::from(is_lost);
    is_lost
}

fn call(shared: &(Mutex<State>, Condvar), method: &str, params: &Value) -> Value {
    match method {
        "getMe" => ok(json!({"id": 123_456, "is_bot": true, "first_name": "Aethon", "username": BOT})),
        "setMyCommands" | "sendChatAction" => ok(json!(true)),
        "setMessageReaction" => {
            let emoji = params["reaction"][0]["emoji"].as_str().unwrap_or_default().to_owned();
            let message = params["message_id"].as_i64().unwrap_or_default();
            lock(&shared.0).reactions.push((message, emoji));
            ok(json!(true))
        }
        "getWebhookInfo" => ok(json!({"url": ""})),
        "getUpdates" => updates(shared, params),
        "sendMessageDraft" | "sendRichMessage" if lock(&shared.0).is_old => {
            failure(404, "Not Found: method not found")
        }
        "sendMessage" | "sendMessageDraft" | "sendRichMessage" | "editMessageText" => {
            let mut state = lock(&shared.0);
            if state.is_blocked {
                return failure(403, "Forbidden: bot was blocked by the user");
            }
            if let Some(seconds) = state.refusals.pop_front() {
                let mut refused = failure(429, &format!("Too Many Requests: retry after {seconds}"));
                refused["parameters"] = json!({"retry_after": seconds});
                return refused;
            }
            let is_rich = method == "sendRichMessage" || params.get("rich_message").is_some();
            let checked = match method {
                "sendMessageDraft" => draft(params),
                "sendRichMessage" => rich(params),
                "editMessageText" if is_rich && !state.is_old => rich(params),
                _ => checked(params),
            };
            match (checked, method) {
                (Err(refusal), _) => failure(400, &format!("Bad Request: {refusal}")),
                (Ok(posted), "sendMessageDraft") => {
                    state.drafts.push((posted.chat, posted.id, posted.texts.concat()));
                    ok(json!(true))
                }
                (Ok(posted), "editMessageText") => edit(&mut state, params, posted),
                (Ok(posted), _) => send(&mut state, posted),
            }
        }
        "getFile" => {
            let id =
                params["file_id"].as_str().and_then(|id| id.strip_prefix('v')).and_then(|id| id.parse().ok());
            match id.and_then(|id: i64| Some((id, lock(&shared.0).files.get(&id)?.len()))) {
                Some((id, size)) => ok(json!({
                    "file_id": format!("v{id}"), "file_size": size, "file_path": format!("voice/{id}"),
                })),
                None => failure(400, "Bad Request: invalid file_id"),
            }
        }
        "answerCallbackQuery" => {
            lock(&shared.0).answers.push(params["text"].as_str().unwrap_or_default().to_owned());
            ok(json!(true))
        }
        _ => failure(404, "Not Found"),
    }
}

fn updates(shared: &(Mutex<State>, Condvar), params: &Value) -> Value {
    let offset = params["offset"].as_i64().unwrap_or(0);
    let until = Instant::now() + Duration::from_secs(params["timeout"].as_u64().unwrap_or(0).min(50));
    let mut state = lock(&shared.0);
    state.poller += 1;
    let own = state.poller;
    shared.1.notify_all();
    if offset < 0 {
        let last = state.updates.pop_back();
        state.updates.clear();
        state.updates.extend(last);
    }
    state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
    loop {
        if state.poller != own {
            return failure(409, "Conflict: terminated by other getUpdates request");
        }
        if !state.updates.is_empty() || Instant::now() >= until {
            let most = params["limit"].as_u64().map_or(100, |most| most.min(100) as usize);
            return ok(json!(state.updates.iter().take(most).collect::<Vec<_>>()));
        }
        let left = until.saturating_duration_since(Instant::now());
        state = shared.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Validates a draft and its id.
fn draft(params: &Value) -> Result<PostedMessage, String> {
    let chat = params["chat_id"].as_i64().ok_or("chat not found")?;
    if chat <= 0 {
        return Err("TEXTDRAFT_PEER_INVALID".into());
    }
    let id = params["draft_id"].as_i64().unwrap_or_default();
    if id == 0 {
        return Err("draft_id must be non-zero".into());
    }
    let (text, entities) = text(params)?;
    Ok(PostedMessage { id, chat, texts: vec![text], entities, ..PostedMessage::default() })
}

/// Validates a rich message.
fn rich(params: &Value) -> Result<PostedMessage, String> {
    let chat = params["chat_id"].as_i64().ok_or("chat not found")?;
    let rich = &params["rich_message"];
    let markdown = rich["markdown"].as_str().unwrap_or_default();
    if markdown.trim().is_empty() || rich.get("html").is_some() || params.get("text").is_some() {
        return Err("RICH_MESSAGE_EMPTY".into());
    }
    if markdown.chars().count() > 32_768 {
        return Err("message is too long".into());
    }
    if rich["skip_entity_detection"] != true || markdown.contains("![") || markdown.contains("](tg:") {
        return Err("somebody would be called, or something fetched".into());
    }
    Ok(PostedMessage { chat, texts: vec![markdown.to_owned()], ..PostedMessage::default() })
}

/// Validates a text with its entities.
fn text(params: &Value) -> Result<(String, Vec<Value>), String> {
    let text = params["text"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err("message text is empty".into());
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    if units.len() > 4096 {
        return Err("message is too long".into());
    }
    let entities = params["entities"].as_array().cloned().unwrap_or_default();
    if entities.len() > 100 || params.get("parse_mode").is_some() {
        return Err("can't parse entities".into());
    }
    for entity in &entities {
        let at = |key: &str| entity[key].as_u64().and_then(|at| usize::try_from(at).ok());
        let (Some(offset), Some(length)) = (at("offset"), at("length")) else {
            return Err("an entity has no place".into());
        };
        let is_whole =
            units.get(offset..offset + length).is_some_and(|units| String::from_utf16(units).is_ok());
        if !is_whole || length == 0 {
            return Err(format!("the entity {entity} is not in the text"));
        }
    }
    Ok((text.to_owned(), entities))
}

/// Validates a message.
fn checked(params: &Value) -> Result<PostedMessage, String> {
    let (text, entities) = text(params)?;
    if params["link_preview_options"]["is_disabled"] != true {
        return Err("a preview would be fetched".into());
    }
    let rows = params["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let buttons = rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default());
    let buttons: Vec<String> =
        buttons.map(|button| button["callback_data"].as_str().unwrap_or_default().to_owned()).collect();
    if buttons.iter().any(|data| data.is_empty() || data.len() > 64) {
        return Err("BUTTON_DATA_INVALID".into());
    }
    let reply = &params["reply_parameters"];
    let replies_to = reply["message_id"].as_i64();
    if !reply.is_null() && (replies_to.is_none() || reply["allow_sending_without_reply"] != true) {
        return Err("message to be replied not found".into());
    }
    let chat = params["chat_id"].as_i64().ok_or("chat not found")?;
    Ok(PostedMessage { id: 0, chat, texts: vec![text], entities, buttons, replies_to })
}

fn send(state: &mut State, mut posted: PostedMessage) -> Value {
    posted.id = state.number();
    let answer = message(&posted);
    state.posted.push(posted);
    ok(answer)
}

fn edit(state: &mut State, params: &Value, new: PostedMessage) -> Value {
    let id = params["message_id"].as_i64().unwrap_or_default();
    let Some(posted) =
        state.posted.iter_mut().rev().find(|posted| posted.id == id && posted.chat == new.chat)
    else {
        return failure(400, "Bad Request: message to edit not found");
    };
    if posted.text() == new.text() && posted.entities == new.entities && posted.buttons == new.buttons {
        return failure(
            400,
            "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
        );
    }
    posted.texts.extend(new.texts);
    (posted.entities, posted.buttons) = (new.entities, new.buttons);
    ok(message(posted))
}

fn message(posted: &PostedMessage) -> Value {
    json!({"message_id": posted.id, "date": now(), "chat": {"id": posted.chat, "type": "private"}, "text": posted.text()})
}

fn ok(result: Value) -> Value {
    json!({"ok": true, "result": result})
}

fn failure(code: u64, description: &str) -> Value {
    json!({"ok": false, "error_code": code, "description": description})
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("the clock is past 1970").as_secs()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
