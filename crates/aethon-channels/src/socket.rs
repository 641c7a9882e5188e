//! A WebSocket to a platform that exchanges JSON and reports what ended it.
//!
//! Connecting goes through [`Dial`], so that tests need no network. Addresses often contain a ticket, so they never
//! appear in errors.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

/// How long opening a connection may take.
const OPENING: Duration = Duration::from_secs(20);
/// How long sending a frame may take.
const SENDING: Duration = Duration::from_secs(10);
/// How long closing may take.
const CLOSING: Duration = Duration::from_secs(2);
/// The longest message, in bytes.
const MAX_MESSAGE: usize = 8 << 20;
/// The size of the read buffer. The default of 128 KiB would be most of the memory of an idle channel.
const READ_BUFFER: usize = 8 << 10;

/// A byte stream in both directions.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Opens connections to hosts.
#[async_trait]
pub trait Dial: Send + Sync {
    /// Opens a connection, not encrypted yet, to this port of a host.
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>>;
}

/// Connects over the network.
pub struct Network;

#[async_trait]
impl Dial for Network {
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>> {
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// Why a socket ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The peer's close code, if it sent one.
    pub(crate) code: Option<u16>,
    pub(crate) message: String,
}

impl Ended {
    fn broken(message: impl Into<String>) -> Self {
        Self { code: None, message: message.into() }
    }
}

/// An open socket.
pub(crate) struct Socket {
    inner: WebSocketStream<MaybeTlsStream<Box<dyn Wire>>>,
    heard: Instant,
}

impl Socket {
    /// Opens the address that the platform provided. The socket may be unencrypted only if `api_base`, the address
    /// the owner configured, is plain http to this machine, and only to this machine.
    pub(crate) async fn open(dial: &Arc<dyn Dial>, address: &str, api_base: &str) -> Result<Self, Ended> {
        let (host, port) = target(address, api_base).map_err(Ended::broken)?;
        let opening = async {
            let wire = dial.dial(&host, port).await.map_err(|error| Ended::broken(error.to_string()))?;
            let config = WebSocketConfig::default()
                .read_buffer_size(READ_BUFFER)
                .max_message_size(Some(MAX_MESSAGE))
                .max_frame_size(Some(MAX_MESSAGE));
            let opened = client_async_tls_with_config(address, wire, Some(config), None).await;
            Ok(opened.map_err(|error| Ended::broken(told(&error)))?.0)
        };
        let opened = timeout(OPENING, opening).await;
        let inner = opened.map_err(|_| Ended::broken("no socket came about in time"))??;
        Ok(Self { inner, heard: Instant::now() })
    }

    /// Returns the next message. Cancel safe. Silence of this duration counts as the end.
    pub(crate) async fn next(&mut self, silence: Duration) -> Result<Value, Ended> {
        loop {
            let Ok(heard) = timeout_at(self.heard + silence, self.inner.next()).await else {
                return Err(Ended::broken("the other side has gone quiet"));
            };
            self.heard = Instant::now();
            match heard {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).map_err(|_| Ended::broken("a message is no JSON"));
                }
                Some(Ok(Message::Close(frame))) => {
                    let code = frame.as_ref().map(|frame| u16::from(frame.code));
                    let why = frame.map(|frame| format!(" ({} {})", u16::from(frame.code), frame.reason));
                    let message = format!("the other side closed the socket{}", why.unwrap_or_default());
                    return Err(Ended { code, message });
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Ended::broken(told(&error))),
                None => return Err(Ended::broken("the other side closed the connection")),
            }
        }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: &Value) -> Result<(), Ended> {
        self.put(Message::text(message.to_string())).await
    }

    /// Sends a ping.
    pub(crate) async fn ping(&mut self) -> Result<(), Ended> {
        self.put(Message::Ping(Bytes::new())).await
    }

    /// Closes the socket with this code. The peer sees the connection end either way.
    pub(crate) async fn close(mut self, code: u16) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
        let _ = timeout(CLOSING, self.inner.close(Some(frame))).await;
    }

    async fn put(&mut self, message: Message) -> Result<(), Ended> {
        match timeout(SENDING, self.inner.send(message)).await {
            Ok(sent) => sent.map_err(|error| Ended::broken(told(&error))),
            Err(_) => Err(Ended::broken("the other side takes nothing any more")),
        }
    }
}

/// Describes an error without any address.
fn told(error: &Error) -> String {
    match error {
        Error::Io(error) => format!("the socket broke: {error}"),
        Error::Http(response) => format!("the socket was refused with {}", response.status()),
        Error::ConnectionClosed | Error::AlreadyClosed => "the socket is closed".to_owned(),
        Error::Protocol(error) => format!("the socket broke: {error}"),
        Error::Capacity(error) => format!("the socket broke: {error}"),
        Error::Tls(error) => format!("the socket could not be encrypted: {error}"),
        Error::Url(_) => "the address of the socket is none".to_owned(),
        _ => "the socket broke".to_owned(),
    }
}

/// Returns the host and port of a socket, if it may be opened.
fn target(address: &str, api_base: &str) -> Result<(String, u16), &'static str> {
    let uri: Uri = address.parse().map_err(|_| "the address of the socket is none")?;
    let host = uri.host().ok_or("the address of the socket names no host")?.to_owned();
    match uri.scheme_str() {
        Some("wss") => Ok((host, uri.port_u16().unwrap_or(443))),
        Some("ws") if is_plain_and_here(api_base) && is_this_machine(&host) => {
            Ok((host, uri.port_u16().unwrap_or(80)))
        }
        _ => Err("the address of the socket is not encrypted (wss)"),
    }
}

/// Returns whether the owner pointed the channel at a server on this machine, without encryption.
pub(crate) fn is_plain_and_here(address: &str) -> bool {
    let uri: Option<Uri> = address.parse().ok();
    uri.is_some_and(|uri| uri.scheme_str() == Some("http") && uri.host().is_some_and(is_this_machine))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']).trim_end_matches('.');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_encrypted_unless_all_of_it_is_on_this_machine() {
        let check = |address: &str, base: &str, expected: Option<(&str, u16)>| {
            let found = target(address, base).ok();
            assert_eq!(found, expected.map(|(host, port)| (host.to_owned(), port)), "{address} {base}");
        };
        let (slack, here) = ("https://slack.com/api", "http://127.0.0.1:9/api");
        check("wss://wss-primary.slack.com/link/?ticket=1", slack, Some(("wss-primary.slack.com", 443)));
        check("ws://wss-primary.slack.com/link", slack, None);
        check("ws://127.0.0.1:8/link", slack, None);
        check("ws://127.0.0.1:8/link", here, Some(("127.0.0.1", 8)));
        check("ws://example.org/link", here, None);
        check("ws://localhost:8", "http://localhost:9", Some(("localhost", 8)));
        check("https://slack.com/", slack, None);
        check("nothing", slack, None);
    }
}
