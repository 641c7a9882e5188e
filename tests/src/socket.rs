//! A blocking WebSocket client with deadlines.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Response;
use tungstenite::http::{HeaderName, HeaderValue, Request};
use tungstenite::protocol::CloseFrame;
use tungstenite::{Bytes, Error, Message, WebSocket};

use crate::http::connect;

/// An open WebSocket.
pub struct Socket {
    inner: WebSocket<TcpStream>,
    /// The answer to the handshake.
    pub handshake: Response,
}

impl Socket {
    /// Opens a socket; panics if the handshake fails.
    pub fn open(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_open(address, target, headers)
            .unwrap_or_else(|error| panic!("no WebSocket at {target}: {error}"))
    }

    /// Opens a socket; the error of a refused handshake carries the HTTP response.
    pub fn try_open(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Result<Self, Box<Error>> {
        match tungstenite::client(request(address, target, headers), connect(address)) {
            Ok((inner, handshake)) => Ok(Self { inner, handshake }),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(Box::new(error)),
            Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("the handshake took too long"),
        }
    }

    /// Opens a socket with a small receive buffer, which a slow reader fills soon. Not the smallest possible: a buffer smaller
    /// than one packet plus the kernel's overhead drops every other packet and waits for its retransmission.
    pub fn narrow(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Self {
        use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
        let narrow = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        sockopt::set_socket_recv_buffer_size(&narrow, 16 << 10).expect("a receive buffer can be small");
        connect(&narrow, &address).expect("the server accepts connections");
        let stream = TcpStream::from(narrow);
        stream.set_read_timeout(Some(crate::http::TIMEOUT)).expect("a time-out can be set");
        match tungstenite::client(request(address, target, headers), stream) {
            Ok((inner, handshake)) => Self { inner, handshake },
            Err(error) => panic!("no WebSocket at {target}: {error}"),
        }
    }

    /// Sends text.
    pub fn send(&mut self, text: &str) {
        self.inner.send(Message::text(text)).expect("the frame goes out");
    }

    /// Sends a JSON frame.
    pub fn send_json(&mut self, frame: &Value) {
        self.send(&frame.to_string());
    }

    /// Sends any message; returns whether it could be sent.
    pub fn send_message(&mut self, message: Message) -> bool {
        self.inner.send(message).is_ok()
    }

    /// Waits for the next text frame, answering pings.
    pub fn text(&mut self) -> String {
        loop {
            match self.inner.read() {
                Ok(Message::Text(text)) => return text.as_str().to_owned(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("a text frame was expected and not {other:?}"),
            }
        }
    }

    /// Waits for the next frame but for `resumed`, for which [`Self::resumed`] waits.
    pub fn frame(&mut self) -> Value {
        loop {
            let text = self.text();
            let frame: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"));
            if frame["type"] != "resumed" {
                return frame;
            }
        }
    }

    /// Reads the frames of a replay, and the one that ends it.
    pub fn resumed(&mut self) -> (Vec<Value>, Value) {
        let mut replayed = Vec::new();
        loop {
            let frame: Value = serde_json::from_str(&self.text()).expect("JSON");
            if frame["type"] == "resumed" {
                return (replayed, frame);
            }
            replayed.push(frame);
        }
    }

    /// Reads frames up to and including the first of this type.
    pub fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            let found = frame["type"] == kind;
            frames.push(frame);
            if found {
                return frames;
            }
        }
    }

    /// Sends a message and waits for the end of its turn; returns the frames. Those of an earlier turn may come in between,
    /// as another instance relays them a moment later.
    pub fn say(&mut self, id: &str, text: &str) -> Vec<Value> {
        self.send_json(&serde_json::json!({"type": "message", "id": id, "text": text}));
        let mut frames = Vec::new();
        let mut turn = Value::Null;
        loop {
            let frame = self.frame();
            if frame["type"] == "ack" && frame["id"] == id {
                turn = frame["turn"].clone();
            }
            let is_over = frame["type"] == "done" && frame["turn"] == turn;
            frames.push(frame);
            if is_over {
                return frames;
            }
        }
    }

    /// Sends an invalid frame and reads the error: by then the server has handled everything sent before, and a chat socket no
    /// longer waits for a resume before showing live frames.
    pub fn settle(&mut self) {
        self.send("not json");
        while !self.text().contains("\"error\"") {}
    }

    /// Returns whether the server has handled everything sent before, by waiting for its answer to a ping. Other frames are
    /// dropped. For `/ws/dashboard`, which answers nothing else.
    pub fn has_handled_all(&mut self) -> bool {
        let ping = Bytes::from_static(b"heard?");
        let mut is_open = self.send_message(Message::Ping(ping.clone()));
        while is_open {
            match self.inner.read() {
                Ok(Message::Pong(payload)) if payload == ping => return true,
                Ok(Message::Close(_)) | Err(_) => is_open = false,
                Ok(_) => {}
            }
        }
        false
    }

    /// Waits for the close frame and returns its code.
    pub fn close_code(&mut self) -> u16 {
        loop {
            match self.inner.read() {
                Ok(Message::Close(Some(CloseFrame { code, .. }))) => return code.into(),
                Ok(Message::Close(None)) => return 1005,
                Ok(_) => {}
                Err(error) => panic!("a close frame was expected and not {error}"),
            }
        }
    }

    /// Waits for the next message other than a ping, or the error that broke the connection.
    pub fn receive(&mut self) -> Result<Message, Error> {
        loop {
            match self.inner.read() {
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => return other,
            }
        }
    }

    /// The underlying connection, for writing what no client would.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.inner.get_mut()
    }

    /// Returns whether nothing arrives for this long.
    pub fn is_silent(&mut self, wait: Duration) -> bool {
        self.inner.get_ref().set_read_timeout(Some(wait)).expect("a time-out can be set");
        let silent = matches!(self.inner.read(), Err(Error::Io(_)));
        self.inner.get_ref().set_read_timeout(Some(crate::http::TIMEOUT)).expect("a time-out can be set");
        silent
    }
}

fn request(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = format!("ws://{address}{target}").into_client_request().expect("an address");
    for (name, value) in headers {
        let name: HeaderName = name.parse().expect("a header name");
        request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a header value"));
    }
    request
}

/// Filters the frames by type.
pub fn of_type<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

/// Joins the deltas.
pub fn spoken(frames: &[Value]) -> String {
    of_type(frames, "delta").iter().filter_map(|frame| frame["text"].as_str()).collect()
}

/// The rendered blocks that a page has after all these frames.
pub fn rendered(frames: &[Value]) -> String {
    let mut blocks: Vec<&str> = Vec::new();
    for frame in of_type(frames, "blocks") {
        let from = frame["from"].as_u64().and_then(|from| usize::try_from(from).ok()).expect("an index");
        assert!(from <= blocks.len(), "blocks begin behind the end: {frame}");
        blocks.truncate(from);
        blocks.extend(frame["html"].as_array().expect("a list").iter().filter_map(Value::as_str));
    }
    blocks.concat()
}
