//! Clients that speak the protocol of the page, and say more than one thing at a time. They see each acknowledgement and each `done`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Error, Message, WebSocket};

use super::{LONG, SurfaceRun, question};

/// Talks until all is over.
pub(super) fn talk(stage: &SurfaceRun, number: usize, session: usize) {
    let writer = format!("socket {number}");
    let (unsent, refused, turns) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    Client { stage, session, writer, unsent, refused, turns, open: 0 }.run();
}

/// A client: sends without waiting for answers, repeats unacknowledged messages, and records the frames received.
struct Client<'a> {
    stage: &'a SurfaceRun,
    session: usize,
    writer: String,
    unsent: Vec<usize>,
    /// Refused at first, because too many messages wait. Messages behind it may be stored before it by then, and be
    /// acknowledged only on the next connection, behind it.
    refused: BTreeSet<usize>,
    turns: BTreeMap<String, usize>,
    /// Acknowledged and not answered on this connection.
    open: usize,
}

impl Client<'_> {
    fn run(&mut self) {
        let deadline = || Instant::now() + LONG;
        let mut end = None;
        while !(self.stage.is_over() && self.unsent.is_empty()) {
            if self.stage.is_over() {
                assert!(Instant::now() < *end.get_or_insert_with(deadline), "{} is not heard", self.writer);
            }
            match self.connect() {
                Some(socket) => self.talk(socket),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn connect(&self) -> Option<WebSocket<TcpStream>> {
        let address = self.stage.address();
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let target = format!("ws://{address}/ws/chat?session=s{}", self.session);
        let mut request = target.into_client_request().expect("an address");
        let protocol = HeaderValue::from_static("aethon.chat.v1");
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let (socket, _) = tungstenite::client(request, stream).ok()?;
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(100))).ok()?;
        Some(socket)
    }

    fn talk(&mut self, mut socket: WebSocket<TcpStream>) {
        self.open = 0;
        for number in self.unsent.clone() {
            if !self.send(&mut socket, number) {
                return;
            }
        }
        while !(self.stage.is_over() && self.unsent.is_empty()) {
            if !self.stage.is_over() && self.unsent.len() < 2 && self.open < 3 {
                let number = self.stage.ask(self.session);
                self.unsent.push(number);
                if !self.send(&mut socket, number) {
                    return;
                }
            }
            match socket.read() {
                Ok(Message::Text(text)) => {
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    if let Some(refused) = self.hear(&frame) {
                        std::thread::sleep(Duration::from_millis(100));
                        if !self.send(&mut socket, refused) {
                            return;
                        }
                    }
                }
                Ok(Message::Close(_)) => return,
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(_) => return,
            }
        }
    }

    fn send(&self, socket: &mut WebSocket<TcpStream>, number: usize) -> bool {
        let text = question(number).0.replace(" | ", "\n");
        let frame = json!({"type": "message", "id": format!("{}-{number}", self.writer), "text": text});
        socket.send(Message::text(frame.to_string())).is_ok()
    }

    /// Records a frame; returns a question that was refused for now.
    fn hear(&mut self, frame: &Value) -> Option<usize> {
        let number = || {
            let id = frame["id"].as_str()?.strip_prefix(&self.writer)?;
            id.trim_start_matches('-').parse::<usize>().ok()
        };
        let turn = frame["turn"].as_str().unwrap_or_default();
        match frame["type"].as_str()? {
            "ack" => {
                let number = number()?;
                if let Some(index) = self.unsent.iter().position(|unsent| *unsent == number) {
                    self.unsent.remove(index);
                    self.open += 1;
                    self.turns.insert(turn.to_owned(), number);
                    let mut known = self.stage.known();
                    let mut writer = self.writer.clone();
                    if self.refused.contains(&number) {
                        writer = format!("{writer}, refused at first: {number}");
                    }
                    known.acknowledged.entry(writer).or_default().push(number);
                }
            }
            "done" => {
                if let Some(number) = self.turns.get(turn) {
                    self.open = self.open.saturating_sub(1);
                    if frame["stop_reason"] == "end" {
                        assert_eq!(frame["text"], question(*number).1, "the answer to question {number}");
                        self.stage.known().printed.insert(*number);
                    }
                }
            }
            "error" if turn.is_empty() => {
                let number = number()?;
                assert_ne!(frame["code"], "mismatch", "{frame}");
                self.refused.insert(number);
                return Some(number);
            }
            _ => {}
        }
        None
    }
}
