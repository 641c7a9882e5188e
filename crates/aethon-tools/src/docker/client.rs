//! Speaks HTTP to a docker daemon: one connection a question, everything bounded in size and time.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// How long the daemon may take to answer a usual question.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The largest answer that is read.
const MOST: u64 = 16 << 20;
/// The largest head of an answer.
const MOST_HEAD: usize = 64 << 10;
/// The largest piece of output that is taken at once.
const PIECE: usize = 32 << 10;

/// The way to a daemon.
#[derive(Debug, Clone)]
pub(super) struct Client {
    address: Address,
}

#[derive(Debug, Clone)]
enum Address {
    Unix(PathBuf),
    Tcp(String),
}

/// What a daemon said.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The daemon's own words on what is wrong.
    pub(super) fn message(&self) -> String {
        let message = self.json()["message"].as_str().map(str::to_owned);
        message.unwrap_or_else(|| String::from_utf8_lossy(&self.body).chars().take(300).collect())
    }

    /// The answer, if it is a good one.
    pub(super) fn ok(self) -> Result<Self, String> {
        if self.status < 300 {
            Ok(self)
        } else {
            Err(format!("docker: {} ({})", self.message(), self.status))
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Client {
    /// The daemon at an address like `unix:///var/run/docker.sock` or `tcp://127.0.0.1:2375`.
    pub(super) fn new(host: &str) -> Self {
        let address = match (host.strip_prefix("unix://"), host.strip_prefix("tcp://")) {
            (Some(path), _) => Address::Unix(path.into()),
            (None, Some(address)) => Address::Tcp(address.to_owned()),
            (None, None) => Address::Unix(host.into()),
        };
        Self { address }
    }

    /// Asks, and reads the whole answer.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Answer, String> {
        let asked = async {
            let mut stream = self.connect().await?;
            stream.write_all(&request(method, path, body, "Connection: close")).await?;
            let mut bytes = Vec::new();
            stream.take(MOST).read_to_end(&mut bytes).await?;
            answer(&bytes)
        };
        match timeout(patience, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(format!("the docker daemon does not answer: {error}")),
            Err(_) => Err("the docker daemon took too long to answer".into()),
        }
    }

    /// Starts something and yields what it writes as it comes.
    pub(super) async fn attach(&self, path: &str, body: &Value) -> Result<Output, String> {
        let attached = async {
            let mut stream = self.connect().await?;
            let upgrade = "Connection: Upgrade\r\nUpgrade: tcp";
            stream.write_all(&request("POST", path, Some(body), upgrade)).await?;
            let (head, rest) = head(&mut stream).await?;
            match status(&head)? {
                101 | 200 => Ok(Output { stream, buffer: rest, left: 0 }),
                status => Err(io::Error::other(format!("docker refused to start it ({status})"))),
            }
        };
        match timeout(PATIENCE, attached).await {
            Ok(attached) => attached.map_err(|error| error.to_string()),
            Err(_) => Err("the docker daemon took too long to answer".into()),
        }
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Address::Tcp(address) => Box::new(TcpStream::connect(address).await?),
        })
    }
}

fn request(method: &str, path: &str, body: Option<&Value>, connection: &str) -> Vec<u8> {
    let body = body.map(Value::to_string).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         {connection}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The head of an answer, and what came behind it.
async fn head(stream: &mut Box<dyn Stream>) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = end_of_head(&bytes) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > MOST_HEAD {
            return Err(io::Error::other("its answer has no end"));
        }
        let mut piece = [0; 1024];
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => bytes.extend_from_slice(&piece[..length]),
        }
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn status(head: &[u8]) -> io::Result<u16> {
    let line =
        String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    line.split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| io::Error::other("it does not speak HTTP"))
}

fn answer(bytes: &[u8]) -> io::Result<Answer> {
    let end = end_of_head(bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
    let (head, body) = bytes.split_at(end);
    let is_chunked =
        String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { whole(body)? } else { body.to_vec() };
    Ok(Answer { status: status(head)?, body })
}

/// A body that came in chunks.
fn whole(mut rest: &[u8]) -> io::Result<Vec<u8>> {
    let broken = || io::Error::other("its answer is cut off");
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n").ok_or_else(broken)?;
        let size = String::from_utf8_lossy(&rest[..line]);
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16)
            .map_err(io::Error::other)?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(rest.get(..size).ok_or_else(broken)?);
        rest = rest.get(size + 2..).ok_or_else(broken)?;
    }
}

/// What a started command writes: stdout and stderr in frames with a head of eight bytes.
pub(super) struct Output {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// How much of the current frame is still to come.
    left: usize,
}

impl Output {
    /// The next piece; `None` at the end. The future may be dropped and asked for again; nothing is lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if self.left == 0 && self.buffer.len() >= 8 {
                let size = [self.buffer[4], self.buffer[5], self.buffer[6], self.buffer[7]];
                self.left = u32::from_be_bytes(size) as usize;
                self.buffer.drain(..8);
            }
            if self.left > 0 && !self.buffer.is_empty() {
                let rest = self.buffer.split_off(self.left.min(self.buffer.len()));
                let piece = std::mem::replace(&mut self.buffer, rest);
                self.left -= piece.len();
                return Ok(Some(piece));
            }
            let mut piece = vec![0; PIECE];
            match self.stream.read(&mut piece).await? {
                0 => return Ok(None),
                length => self.buffer.extend_from_slice(&piece[..length]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_or_in_chunks_and_broken_ones_are_errors() {
        let check = |text: &str, expected: Option<(u16, &str)>| {
            let read = answer(text.as_bytes()).ok();
            let read =
                read.as_ref().map(|answer| (answer.status, std::str::from_utf8(&answer.body).unwrap()));
            assert_eq!(read, expected, "{text:?}");
        };
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Some((200, "{}")));
        check(
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            Some((404, "abc")),
        );
        check("HTTP/1.1 204 No Content\r\n\r\n", Some((204, "")));
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nabc", None);
        check("HTTP/1.1 200 OK\r\n", None);
        check("hello\r\n\r\n", None);
        check("", None);
    }
}
