//! One connection to the daemon's chat socket, subprotocol `aethon.chat.v1`, in one session.

use std::time::Duration;

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde_json::Value;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, http::HeaderValue};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async};

use crate::daemon::Daemon;

/// How long the server may be silent. It sends a ping every 30 seconds.
const SILENCE: Duration = Duration::from_secs(95);

/// The time limit for sending a frame.
const SENDING: Duration = Duration::from_secs(10);

/// Why a connection broke.
#[derive(Debug)]
pub(super) enum Broken {
    /// A new connection may succeed.
    Lost(String),
    /// A new connection would fail in the same way.
    Refused(String),
}

impl Broken {
    /// Creates the error of a lost connection, with the reason.
    pub(super) fn lost(why: impl std::fmt::Display) -> Self {
        Self::Lost(why.to_string())
    }

    /// Classifies a failed request: the daemon's answers are final, unless it is stopping.
    pub(super) fn of(error: anyhow::Error) -> Self {
        let why = format!("{error:#}");
        if crate::daemon::is_final(&error) { Self::Refused(why) } else { Self::Lost(why) }
    }
}

/// The stream of frames, over whichever connection.
trait Frames: Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Send + Sync + Unpin {}

impl Frames for WebSocketStream<MaybeTlsStream<TcpStream>> {}

impl Frames for WebSocketStream<UnixStream> {}

/// An open connection.
pub(super) struct Socket {
    inner: Box<dyn Frames>,
    heard: Instant,
}

impl Socket {
    /// Connects, and waits until the server is ready.
    pub(super) async fn open(daemon: &Daemon, session: &str) -> Result<Self, Broken> {
        let address = daemon.socket_address(&format!("/ws/chat?session={}", crate::daemon::encoded(session)));
        let refused = |error: &dyn std::fmt::Display| Broken::Refused(error.to_string());
        let mut request = address.as_str().into_client_request().map_err(|error| refused(&error))?;
        request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static("aethon.chat.v1"));
        if let Some(value) = daemon.authorization() {
            let value = HeaderValue::from_str(&value)
                .map_err(|_| refused(&"dashboard.auth_token cannot be sent in a header"))?;
            request.headers_mut().insert("Authorization", value);
        }
        let connected: Result<Box<dyn Frames>, Error> = match daemon.socket() {
            None => tokio_tungstenite::connect_async(request).await.map(|(inner, _)| Box::new(inner) as _),
            Some(path) => match UnixStream::connect(path).await {
                Ok(stream) => client_async(request, stream).await.map(|(inner, _)| Box::new(inner) as _),
                Err(error) => Err(error.into()),
            },
        };
        let inner = connected.map_err(|error| {
            Broken::lost(format!("the chat of aethon-server at {} cannot be opened: {error}", daemon.base))
        })?;
        let mut socket = Self { inner, heard: Instant::now() };
        while socket.next().await?["type"] != "ready" {}
        Ok(socket)
    }

    /// Sends a frame within the time limit.
    pub(super) async fn send(&mut self, frame: &Value) -> Result<(), Broken> {
        match timeout(SENDING, self.inner.send(Message::text(frame.to_string()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Broken::lost(format!("the connection to aethon-server broke: {error}"))),
            Err(_) => Err(Broken::lost("aethon-server takes nothing any more")),
        }
    }

    /// Waits for the next frame. Cancel-safe: dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Value, Broken> {
        loop {
            let Ok(message) = timeout_at(self.heard + SILENCE, self.inner.next()).await else {
                return Err(Broken::lost("aethon-server has gone quiet"));
            };
            self.heard = Instant::now();
            match message {
                Some(Ok(Message::Text(text))) => {
                    if let Ok(frame) = serde_json::from_str(&text) {
                        return Ok(frame);
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let is_refused = frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Policy);
                    let why =
                        frame.map_or(String::new(), |frame| format!(" ({} {})", frame.code, frame.reason));
                    let words = format!("aethon-server closed the connection{why}");
                    return Err(if is_refused { Broken::Refused(words) } else { Broken::Lost(words) });
                }
                Some(Ok(_)) => {}
                None | Some(Err(Error::ConnectionClosed)) => {
                    return Err(Broken::lost("aethon-server closed the connection"));
                }
                Some(Err(error)) => {
                    return Err(Broken::lost(format!("the connection to aethon-server broke: {error}")));
                }
            }
        }
    }

    /// Closes the connection. If that fails, the server sees it end all the same.
    pub(super) async fn close(&mut self) {
        let _ = timeout(Duration::from_secs(1), self.inner.close()).await;
    }
}
