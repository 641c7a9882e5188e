//! A WebSocket client that waits, with a deadline.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Response;
use tungstenite::http::{HeaderName, HeaderValue};
use tungstenite::protocol::CloseFrame;
use tungstenite::{Error, Message, WebSocket};

use crate::http::connect;

/// An open WebSocket.
pub struct Socket {
    inner: WebSocket<TcpStream>,
    /// The answer to the handshake.
    pub handshake: Response,
}

impl Socket {
    /// Opens one; panics when the handshake fails.
    pub fn open(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_open(address, target, headers)
            .unwrap_or_else(|error| panic!("no WebSocket at {target}: {error}"))
    }

    /// Opens one; the error of a refused handshake carries the HTTP response.
    pub fn try_open(address: SocketAddr, target: &str, headers: &[(&str, &str)]) -> Result<Self, Box<Error>> {
        let mut request = format!("ws://{address}{target}").into_client_request().map_err(Box::new)?;
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a header name");
            request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a header value"));
        }
        match tungstenite::client(request, connect(address)) {
            Ok((inner, handshake)) => Ok(Self { inner, handshake }),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(Box::new(error)),
            Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("the handshake took too long"),
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

    /// The next text frame; pings are answered on the way.
    pub fn text(&mut self) -> String {
        loop {
            match self.inner.read() {
                Ok(Message::Text(text)) => return text.as_str().to_owned(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("a text frame was expected and not {other:?}"),
            }
        }
    }

    /// The next frame as JSON.
    pub fn frame(&mut self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    /// Frames up to and including the first of this type.
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

    /// Says something and waits for the end of its turn; returns the frames.
    pub fn say(&mut self, id: &str, text: &str) -> Vec<Value> {
        self.send_json(&serde_json::json!({"type": "message", "id": id, "text": text}));
        self.until("done")
    }

    /// Waits for the close and returns its code.
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

    /// Whether nothing arrives for this long.
    pub fn is_silent(&mut self, wait: Duration) -> bool {
        self.inner.get_ref().set_read_timeout(Some(wait)).expect("a time-out can be set");
        let silent = matches!(self.inner.read(), Err(Error::Io(_)));
        self.inner.get_ref().set_read_timeout(Some(crate::http::PATIENCE)).expect("a time-out can be set");
        silent
    }
}
