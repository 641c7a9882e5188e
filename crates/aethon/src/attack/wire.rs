//! Requests as an attacker writes them: raw bytes on a socket, well-formed or not.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The time limit for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// No headers besides Host.
pub(super) const NO_HEADERS: [&str; 0] = [];

/// How much of an answer is read, in bytes.
const MAX_READ: u64 = 1 << 20;

/// The listener under attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// The address that the daemon publishes.
    published: SocketAddr,
    /// The address at which this machine reaches it.
    reached: SocketAddr,
}

/// A raw response.
#[derive(Debug, Default)]
pub(super) struct RawAnswer {
    /// The status; 0 if the connection was closed without one.
    pub(super) status: u16,
    /// The bytes received, up to the limit.
    pub(super) bytes: Vec<u8>,
}

impl Target {
    /// Parses `http://ADDRESS:PORT`. A listener on all addresses is attacked through the loopback one.
    pub(super) fn parse(base: &str) -> Option<Self> {
        let published: SocketAddr = base.strip_prefix("http://")?.trim_end_matches('/').parse().ok()?;
        let mut reached = published;
        match published.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => reached.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => reached.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        Some(Self { published, reached })
    }

    /// The address that the daemon publishes.
    pub(super) fn published(self) -> SocketAddr {
        self.published
    }

    /// Returns whether only this machine reaches the published address. A listener on all addresses is reachable from anywhere,
    /// although the attack uses the loopback one.
    pub(super) fn is_loopback(self) -> bool {
        self.published.ip().to_canonical().is_loopback()
    }

    /// Opens a connection.
    pub(super) async fn connect(self) -> io::Result<TcpStream> {
        timeout(TIMEOUT, TcpStream::connect(self.reached)).await?
    }

    /// Sends bytes, then reads until the connection is closed or the time limit passes.
    pub(super) async fn send(self, bytes: &[u8]) -> io::Result<RawAnswer> {
        let mut stream = self.connect().await?;
        // A server that refuses early closes before we have sent everything; its answer still counts.
        let _ = timeout(TIMEOUT, stream.write_all(bytes)).await?;
        Ok(RawAnswer::read(&mut stream).await)
    }

    /// Sends a request with this request line and these extra headers, and the Host header that a person would send.
    pub(super) async fn ask(self, line: &str, headers: &[impl AsRef<str>]) -> io::Result<RawAnswer> {
        let own = format!("Host: {self}");
        let all: Vec<&str> = std::iter::once(&*own).chain(headers.iter().map(AsRef::as_ref)).collect();
        self.ask_exactly(line, &all, "").await
    }

    /// Sends exactly this request.
    pub(super) async fn ask_exactly(
        self,
        line: &str,
        headers: &[impl AsRef<str>],
        body: &str,
    ) -> io::Result<RawAnswer> {
        let headers: String = headers.iter().map(|header| format!("{}\r\n", header.as_ref())).collect();
        self.send(format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n{body}").as_bytes()).await
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reached.fmt(formatter)
    }
}

impl RawAnswer {
    /// Reads until the end of the stream or the time limit.
    pub(super) async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut limited = stream.take(MAX_READ);
        // Whatever arrived before a reset or the time limit is an answer too.
        let _ = timeout(TIMEOUT, limited.read_to_end(&mut bytes)).await;
        Self { status: status(&bytes), bytes }
    }

    /// Returns whether the response contains this text.
    pub(super) fn has(&self, text: &str) -> bool {
        self.bytes.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text.as_bytes()))
    }
}

/// Parses the status from the first line.
fn status(bytes: &[u8]) -> u16 {
    let digits = bytes.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_published() {
        let check = |base: &str, expected: Option<&str>| {
            assert_eq!(Target::parse(base).map(|target| target.to_string()).as_deref(), expected, "{base}");
        };
        check("http://127.0.0.1:18790", Some("127.0.0.1:18790"));
        check("http://[::1]:18790/", Some("[::1]:18790"));
        check("http://0.0.0.0:1", Some("127.0.0.1:1"));
        check("https://127.0.0.1:1", None);
        check("nonsense", None);
    }

    #[test]
    fn a_listener_on_all_addresses_is_not_loopback() {
        let check = |base: &str, expected: bool| {
            assert_eq!(Target::parse(base).unwrap().is_loopback(), expected, "{base}");
        };
        check("http://127.0.0.1:1", true);
        check("http://[::1]:1", true);
        check("http://[::ffff:127.0.0.1]:1", true);
        check("http://0.0.0.0:1", false);
        check("http://[::]:1", false);
        check("http://192.168.1.5:1", false);
    }

    #[test]
    fn the_status_is_read_from_the_first_line() {
        assert_eq!(status(b"HTTP/1.1 421 Misdirected Request\r\n"), 421);
        assert_eq!(status(b""), 0);
        assert_eq!(status(b"HTTP/1.1 2"), 0);
    }
}
