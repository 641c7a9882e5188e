//! A WebSocket client with a time limit on every wait.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::{HeaderName, HeaderValue, Request, Response};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Client {
    pub(crate) stream: WebSocketStream<TcpStream>,
    pub(crate) answer: Response<Option<Vec<u8>>>,
}

pub(crate) fn request(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    request
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_connect(address, path, headers).await.unwrap()
    }

    pub(crate) async fn try_connect(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, Error> {
        let tcp = TcpStream::connect(address).await.unwrap();
        tcp.set_nodelay(true).unwrap();
        let connecting = client_async(request(address, path, headers), tcp);
        let (stream, answer) = timeout(TIMEOUT, connecting).await.expect("a handshake")?;
        Ok(Self { stream, answer })
    }

    pub(crate) async fn send(&mut self, text: &str) {
        timeout(TIMEOUT, self.stream.send(Message::text(text))).await.expect("a writable socket").unwrap();
    }

    pub(crate) async fn send_json(&mut self, value: Value) {
        self.send(&value.to_string()).await;
    }

    /// Waits until the server has taken all that was sent before: it answers a ping in turn. Frames that arrive meanwhile
    /// are dropped. If the socket is closed instead, `Err` has the code.
    pub(crate) async fn settle(&mut self) -> Result<(), u16> {
        self.stream.send(Message::Ping("settle".into())).await.map_err(|_| 1006_u16)?;
        loop {
            match timeout(TIMEOUT, self.stream.next()).await.expect("a pong in time") {
                Some(Ok(Message::Pong(_))) => return Ok(()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map_or(1005, |frame| frame.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(1006),
            }
        }
    }

    pub(crate) async fn send_frame(&mut self, frame: Frame) {
        self.stream.send(Message::Frame(frame)).await.unwrap();
    }

    /// Returns the next message that is not a ping; `None` when the connection is over without a code.
    pub(crate) async fn message(&mut self) -> Option<Message> {
        loop {
            match timeout(TIMEOUT, self.stream.next()).await.expect("a message in time") {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn text(&mut self) -> String {
        match self.message().await {
            Some(Message::Text(text)) => text.as_str().to_owned(),
            other => panic!("not a text: {other:?}"),
        }
    }

    pub(crate) async fn json(&mut self) -> Value {
        loop {
            let frame: Value = serde_json::from_str(&self.text().await).unwrap();
            if frame["type"] != "resumed" {
                return frame;
            }
        }
    }

    /// Returns the frames of a replay, and the one that ends it.
    pub(crate) async fn resumed(&mut self) -> (Vec<Value>, Value) {
        let mut replayed = Vec::new();
        loop {
            let frame: Value = serde_json::from_str(&self.text().await).unwrap();
            if frame["type"] == "resumed" {
                return (replayed, frame);
            }
            replayed.push(frame);
        }
    }

    /// Returns the frames up to and with the first of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.json().await);
            if frames.last().unwrap()["type"] == kind {
                return frames;
            }
        }
    }

    /// Reads on to the end of the connection and returns its code.
    pub(crate) async fn code(&mut self) -> Option<u16> {
        loop {
            match self.message().await {
                Some(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Some(_) => {}
                None => return None,
            }
        }
    }

    /// Expects that nothing more comes before the answer to a question of our own, which is an error frame.
    pub(crate) async fn expect_nothing_before_error(&mut self) {
        self.send("{}").await;
        let frame = self.json().await;
        assert_eq!((&frame["type"], &frame["code"]), (&"error".into(), &"bad_frame".into()), "{frame}");
    }
}
