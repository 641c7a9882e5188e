//! The clients: each records its acknowledgements, repeats unacknowledged messages, and retries unanswered requests.

use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aethon_tests::{Random, Request, Response, program};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Error, Message, WebSocket};

use super::{Record, TortureRun};

/// How long anybody waits for something that must come.
const LONG: Duration = Duration::from_secs(300);

/// The code of an answer to a caller whose turn was cut off so often that it is given up.
const INTERRUPTED: &str = "interrupted";

/// A page that speaks `aethon.chat.v1` and connects again whenever it has to.
struct Page<'a> {
    stage: &'a TortureRun,
    session: String,
    socket: Option<WebSocket<TcpStream>>,
}

impl<'a> Page<'a> {
    fn new(stage: &'a TortureRun, session: &str) -> Self {
        Self { stage, session: session.to_owned(), socket: None }
    }

    fn connect(&self) -> Option<WebSocket<TcpStream>> {
        let address = self.stage.address();
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let target = format!("ws://{address}/ws/chat?session={}", self.session);
        let mut request = target.into_client_request().expect("an address");
        request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static("aethon.chat.v1"));
        let (socket, _) = tungstenite::client(request, stream).ok()?;
        socket.get_ref().set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        Some(socket)
    }

    /// Sends a frame under an id until it is acknowledged; returns its turn.
    fn ask(&mut self, frame: &Value) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            assert!(Instant::now() < deadline, "nobody acknowledges {frame}");
            if let Some(turn) = self.attempt(frame) {
                return turn;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn attempt(&mut self, frame: &Value) -> Option<String> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.connect()?,
        };
        socket.send(Message::text(frame.to_string())).ok()?;
        loop {
            let text = match socket.read() {
                Ok(Message::Text(text)) => text,
                Ok(Message::Close(_)) => return None,
                Ok(_) => continue,
                Err(Error::Io(_) | _) => return None,
            };
            let heard: Value = serde_json::from_str(&text).expect("JSON");
            if heard["id"] != frame["id"] {
                continue;
            }
            self.socket = Some(socket);
            if heard["type"] == "ack" {
                return Some(heard["turn"].as_str().expect("a turn").to_owned());
            }
            let code = heard["code"].as_str().unwrap_or_default();
            assert!(["busy", "storage_unavailable"].contains(&code), "{frame} was refused: {heard}");
            std::thread::sleep(Duration::from_millis(200));
            return None;
        }
    }

    /// Sends a frame that needs no answer, once.
    fn tell(&mut self, frame: &Value) {
        if let Some(socket) = &mut self.socket
            && socket.send(Message::text(frame.to_string())).is_err()
        {
            self.socket = None;
        }
    }
}

/// Sends a request until it is answered.
pub(super) fn until_answered(stage: &TortureRun, request: &Request) -> Response {
    let deadline = Instant::now() + LONG;
    loop {
        let address = stage.address();
        if let Ok(answer) = aethon_tests::http::exchange(address, &request.bytes(address))
            && !is_turned_away(&answer)
        {
            return answer;
        }
        assert!(Instant::now() < deadline, "nobody answers");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Whether nothing was done: no instance was there, which a proxy says in its own words, or the one that was could not take it.
fn is_turned_away(answer: &Response) -> bool {
    match answer.status {
        502 => true,
        503 => {
            answer.header("content-type") != Some("application/problem+json")
                || answer.problem() != INTERRUPTED
        }
        _ => false,
    }
}

/// Waits until nothing runs or waits in a session.
fn until_idle(stage: &TortureRun, session: &str) {
    let deadline = Instant::now() + LONG;
    loop {
        let answer = until_answered(stage, &Request::get(&format!("/api/sessions/{session}?limit=1")));
        let detail = answer.json();
        let is_idle =
            detail["busy"] == false && detail["pending"].as_array().is_some_and(|pending| pending.is_empty());
        if is_idle || answer.status == 404 {
            return;
        }
        assert!(Instant::now() < deadline, "{session} never comes to rest: {detail}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A page in a conversation that it shares with others: it does not wait for answers, and stops a turn now and then.
pub(super) fn page(stage: &TortureRun, number: usize, mut random: Random) -> Vec<Record> {
    let writer = format!("page{number}");
    let mut page = Page::new(stage, "shared");
    let mut record = Record { writer: writer.clone(), session: "webchat:shared".into(), ..Record::default() };
    while !stage.is_over() {
        let (question, _) = stage.question();
        let id = format!("{writer}-{}", record.acknowledged.len());
        let turn = page.ask(&json!({"type": "message", "id": id, "text": question}));
        record.acknowledged.push((question, None));
        if random.between(0, 8) == 0 {
            page.tell(&json!({"type": "stop", "turn": turn}));
        }
        std::thread::sleep(Duration::from_millis(random.between(20, 300)));
    }
    vec![record]
}

/// A page alone in its conversation: it corrects its messages, and knows which must be left.
pub(super) fn editor(stage: &TortureRun, number: usize, mut random: Random) -> Vec<Record> {
    let (name, writer) = (format!("edited{number}"), format!("editor{number}"));
    let mut page = Page::new(stage, &name);
    let mut left: Vec<(String, String)> = Vec::new();
    let mut sent = 0;
    while !stage.is_over() {
        let (question, _) = stage.question();
        let id = format!("{writer}-{sent}");
        sent += 1;
        if left.is_empty() || random.between(0, 3) > 0 {
            let turn = page.ask(&json!({"type": "message", "id": id, "text": question}));
            left.push((question, turn));
        } else {
            until_idle(stage, &format!("webchat:{name}"));
            let place = random.between(0, left.len() as u64) as usize;
            let edit = json!({"type": "edit", "id": id, "turn": left[place].1, "text": question});
            let turn = page.ask(&edit);
            left.truncate(place);
            left.push((question, turn));
        }
        std::thread::sleep(Duration::from_millis(random.between(20, 200)));
    }
    let acknowledged = left.into_iter().map(|(question, _)| (question, None)).collect();
    let session = format!("webchat:{name}");
    vec![Record { writer, session, acknowledged, is_whole: true, is_removed: false }]
}

/// A page that removes each conversation when it has begun.
pub(super) fn remover(stage: &TortureRun, number: usize) -> Vec<Record> {
    let mut records = Vec::new();
    while !stage.is_over() {
        let name = format!("removed{number}-{}", records.len());
        let mut page = Page::new(stage, &name);
        for message in 0..2 {
            let (question, _) = stage.question();
            page.ask(&json!({"type": "message", "id": format!("{name}-{message}"), "text": question}));
        }
        drop(page);
        let session = format!("webchat:{name}");
        let removal = Request::new("DELETE", &format!("/api/sessions/{session}"));
        let answer = until_answered(stage, &removal);
        assert!([200, 404].contains(&answer.status), "{}: {}", answer.status, answer.text());
        records.push(Record { writer: name, session, is_removed: true, ..Record::default() });
        std::thread::sleep(Duration::from_millis(200));
    }
    records
}

/// A program that calls the webhook, again under the same key until it is answered.
pub(super) fn hook(stage: &TortureRun, number: usize) -> Vec<Record> {
    let writer = format!("hook{number}");
    let mut record =
        Record { writer: writer.clone(), session: format!("webhook:trigger:{writer}"), ..Record::default() };
    record.is_whole = true;
    while !stage.is_over() {
        let (question, answer) = stage.question();
        let body = json!({"text": question, "session": writer});
        let key = format!("{writer}-{}", record.acknowledged.len());
        let request = Request::post("/webhook/trigger", &body).header("Idempotency-Key", &key);
        let told = until_answered(stage, &request);
        if told.status == 503 {
            record.acknowledged.push((question, None));
            continue;
        }
        assert_eq!(told.status, 200, "{}", told.text());
        assert_eq!(told.json()["response"], answer.as_str(), "{}", told.text());
        record.acknowledged.push((question, Some(answer)));
    }
    vec![record]
}

/// `aethon-cli ask`, beside the daemon or without it. Its output is the answer; a question given up may be stored.
pub(super) fn terminal(stage: &TortureRun, number: usize) -> Vec<Record> {
    let mut record =
        Record { writer: format!("ask{number}"), session: "webchat:shared".into(), ..Record::default() };
    while !stage.is_over() {
        let (question, answer) = stage.question();
        let mut command = program("aethon-cli", stage.home.path());
        command.args(["--set", "model.provider=fake", "ask", "--session", "shared", &question]);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it runs");
        let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        if output.status.success() {
            assert_eq!(printed, answer, "the answer to {question}");
            record.acknowledged.push((question, Some(answer)));
        }
    }
    vec![record]
}
