//! The HTTP load generator: raw HTTP/1.1 over keep-alive connections, so that it takes as little as possible of the cores that
//! it shares with the server.

use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The result of a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    /// The number of requests answered with 200.
    pub(super) requests: u64,
    /// The time from the first request to the last answer.
    pub(super) elapsed: Duration,
}

impl Outcome {
    /// The number of requests per second.
    pub(super) fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }
}

/// Repeats each connection's own request until the time is up. Any answer but 200 is an error.
pub(super) async fn repeat(
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    duration: Duration,
) -> Result<Outcome> {
    let started = Instant::now();
    let deadline = started + duration;
    let mut connections = JoinSet::new();
    for request in requests {
        connections.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let mut answered = 0_u64;
            while Instant::now() < deadline {
                connection.ask(&request).await?;
                answered += 1;
            }
            anyhow::Ok(answered)
        });
    }
    let mut requests = 0;
    while let Some(answered) = connections.join_next().await {
        requests += answered??;
    }
    Ok(Outcome { requests, elapsed: started.elapsed() })
}

/// Sends requests at a fixed rate for a fixed time, spread evenly over all connections; returns the latencies. They are
/// measured from the moment of sending: the timer's own millisecond is longer than most turns. Any answer but 200 is an
/// error.
pub(super) async fn paced(
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    (a_second, duration): (u32, Duration),
) -> Result<Vec<Duration>> {
    let count = u32::try_from(requests.len()).context("too many connections")?;
    let step = Duration::from_secs(1) / a_second;
    let started = tokio::time::Instant::now();
    let mut connections = JoinSet::new();
    for (number, request) in (0..count).zip(requests) {
        connections.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let (mut due, mut times) = (started + step * number, Vec::new());
            while due < started + duration {
                tokio::time::sleep_until(due).await;
                let sent = Instant::now();
                connection.ask(&request).await?;
                times.push(sent.elapsed());
                due += step * count;
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(own) = connections.join_next().await {
        times.extend(own??);
    }
    Ok(times)
}

/// Builds a `GET`.
pub(super) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n").into_bytes()
}

/// Builds a `POST` of JSON.
pub(super) fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let kind = "Content-Type: application/json";
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A keep-alive connection.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Opens a connection.
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request and returns the body of the answer.
    pub(super) async fn ask(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await.context("cannot send")?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await.context("cannot receive")? == 0 {
                bail!("the server closed the connection: {}", String::from_utf8_lossy(&self.buffer));
            }
            if let Some(body) = body(&self.buffer)? {
                return Ok(&self.buffer[body..]);
            }
        }
    }
}

/// Returns where the body of a complete answer starts; `None` while bytes are missing.
fn body(answer: &[u8]) -> Result<Option<usize>> {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&answer[..end]).context("the head is not text")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.with_context(|| format!("an answer without its length: {head}"))?;
    if answer.len() < end + 4 + length {
        return Ok(None);
    }
    if !head.starts_with("HTTP/1.1 200 ") {
        bail!("not 200: {}", String::from_utf8_lossy(answer));
    }
    Ok(Some(end + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        for end in 0..answer.len() {
            assert_eq!(body(&answer[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(body(answer).unwrap(), Some(answer.len() - 2));
    }

    #[test]
    fn anything_but_200_is_an_error() {
        assert!(body(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(body(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
