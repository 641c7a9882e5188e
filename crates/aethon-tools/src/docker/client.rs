//! An HTTP client for a docker daemon: one connection per request, everything bounded in size and time.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::untrusted::shortened_between_words;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};

/// Timeout of an ordinary request.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of a response.
const MAX_COUNT: u64 = 16 << 20;
/// Maximum size of a response head.
const MAX_HEAD: usize = 64 << 10;
/// Maximum size of a piece of output read at once.
const PIECE: usize = 32 << 10;
/// How long to wait before connecting again if the daemon's queue of connections is full.
const RETRY: Duration = Duration::from_millis(20);

/// Connects to a daemon.
#[derive(Debug, Clone)]
pub(super) struct Client {
    address: Address,
    /// The address as it was configured.
    host: String,
    /// Why the last request got no answer; `None` if it got one.
    fault: Arc<Mutex<Option<String>>>,
}

#[derive(Debug, Clone)]
enum Address {
    Unix(PathBuf),
    Tcp(String),
}

/// A response of the daemon.
#[derive(Debug)]
pub(super) struct DockerAnswer {
    pub(super) status: u16,
    body: Vec<u8>,
}

impl DockerAnswer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the daemon's own error message.
    pub(super) fn message(&self) -> String {
        let message = self.json()["message"].as_str().map(str::to_owned);
        message
            .unwrap_or_else(|| shortened_between_words(String::from_utf8_lossy(&self.body).into_owned(), 300))
    }

    /// Returns the response if it reports success, or else its error message.
    pub(super) fn ok(self) -> Result<Self, String> {
        if self.status < 300 {
            Ok(self)
        } else {
            Err(format!("docker: {} ({})", self.message(), self.status))
        }
    }
}

/// The two directions of a connection. Dropping the writer closes its direction.
type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

impl Client {
    /// Creates a client for an address like `unix:///var/run/docker.sock` or `tcp://127.0.0.1:2375`.
    pub(super) fn new(host: &str) -> Self {
        let address = match (host.strip_prefix("unix://"), host.strip_prefix("tcp://")) {
            (Some(path), _) => Address::Unix(path.into()),
            (None, Some(address)) => Address::Tcp(address.to_owned()),
            (None, None) => Address::Unix(host.into()),
        };
        Self { address, host: host.to_owned(), fault: Arc::default() }
    }

    /// Returns the daemon's address as it was configured.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns why the last request got no answer; `None` if it got one.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember<T>(&self, outcome: Result<T, String>) -> Result<T, String> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = outcome.as_ref().err().cloned();
        outcome
    }

    /// Sends a request and reads the whole response.
    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<DockerAnswer, String> {
        self.remember(self.asked(&request(method, path, body, "Connection: close"), patience).await)
    }

    async fn asked(&self, request: &[u8], patience: Duration) -> Result<DockerAnswer, String> {
        let deadline = Instant::now() + patience;
        let (reader, mut writer) = self.connect(deadline).await?;
        let asked = async {
            writer.write_all(request).await?;
            let mut bytes = Vec::new();
            reader.take(MAX_COUNT).read_to_end(&mut bytes).await?;
            answer(&bytes)
        };
        in_time(timeout_at(deadline, asked).await, patience)
    }

    /// Attaches to a container or command; returns its output as it arrives, and its input.
    pub(super) async fn attach(&self, path: &str, body: Option<&Value>) -> Result<(Output, Writer), String> {
        let upgrade = "Connection: Upgrade\r\nUpgrade: tcp";
        let (begun, writer) = self.begin(path, body, upgrade).await?;
        match begun.status {
            101 | 200 => Ok((
                Output { reader: begun.reader, buffer: begun.rest, left: 0, origin: Origin::Output },
                writer,
            )),
            status => Err(format!("docker refused to start it ({status})")),
        }
    }

    /// Sends a request that the daemon answers only later; returns as soon as the daemon has accepted it.
    pub(super) async fn ask_pending(&self, path: &str) -> Result<PendingResponse, String> {
        let (ResponseHead { head, rest, reader, .. }, writer) =
            self.begin(path, None, "Connection: close").await?;
        Ok(PendingResponse { bytes: [head, rest].concat(), reader, _writer: writer })
    }

    /// Sends a request and reads the head of the response.
    async fn begin(
        &self,
        path: &str,
        body: Option<&Value>,
        connection: &str,
    ) -> Result<(ResponseHead, Writer), String> {
        self.remember(self.begun(&request("POST", path, body, connection)).await)
    }

    async fn begun(&self, request: &[u8]) -> Result<(ResponseHead, Writer), String> {
        let deadline = Instant::now() + TIMEOUT;
        let (mut reader, mut writer) = self.connect(deadline).await?;
        let begun = async {
            writer.write_all(request).await?;
            let (head, rest) = head(&mut reader).await?;
            let status = status(&head)?;
            Ok::<_, io::Error>((ResponseHead { status, head, rest, reader }, writer))
        };
        in_time(timeout_at(deadline, begun).await, TIMEOUT)
    }

    /// Connects before a deadline. A daemon whose queue of connections is full is tried again until then.
    async fn connect(&self, deadline: Instant) -> Result<(Reader, Writer), String> {
        let connected = async {
            loop {
                match self.connect_once().await {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(RETRY).await,
                    connected => return connected,
                }
            }
        };
        match timeout_at(deadline, connected).await {
            Ok(connected) => {
                connected.map_err(|error| format!("the docker daemon cannot be reached: {error}"))
            }
            Err(_) => Err("the docker daemon accepts no connections: it hangs, or its queue is full".into()),
        }
    }

    async fn connect_once(&self) -> io::Result<(Reader, Writer)> {
        Ok(match &self.address {
            Address::Unix(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                (Box::new(reader), Box::new(writer))
            }
            Address::Tcp(address) => {
                let (reader, writer) = TcpStream::connect(address).await?.into_split();
                (Box::new(reader), Box::new(writer))
            }
        })
    }
}

/// Describes a request that failed or took too long.
fn in_time<T>(outcome: Result<io::Result<T>, Elapsed>, patience: Duration) -> Result<T, String> {
    match outcome {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("the docker daemon does not answer: {error}")),
        Err(_) => Err(format!(
            "the docker daemon accepted a request and did not answer it within {} s: it hangs",
            patience.as_secs()
        )),
    }
}

/// A response whose head has arrived.
struct ResponseHead {
    status: u16,
    head: Vec<u8>,
    rest: Vec<u8>,
    reader: Reader,
}

/// A response that is still to come.
pub(super) struct PendingResponse {
    bytes: Vec<u8>,
    reader: Reader,
    /// Kept open: a daemon takes a closed direction for a client that left.
    _writer: Writer,
}

impl PendingResponse {
    /// Waits for the response.
    pub(super) async fn answer(mut self) -> Result<DockerAnswer, String> {
        let read = (&mut self.reader).take(MAX_COUNT).read_to_end(&mut self.bytes).await;
        let read = read.and_then(|_| answer(&self.bytes));
        read.map_err(|error| format!("the docker daemon broke off: {error}"))
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

/// Reads the head of a response, and returns it with the bytes that follow it.
async fn head(reader: &mut Reader) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = end_of_head(&bytes) {
            let rest = bytes.split_off(end);
            return Ok((bytes, rest));
        }
        if bytes.len() > MAX_HEAD {
            return Err(io::Error::other("its answer has no end"));
        }
        let mut piece = [0; 1024];
        match reader.read(&mut piece).await? {
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

fn answer(bytes: &[u8]) -> io::Result<DockerAnswer> {
    let end = end_of_head(bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
    let (head, body) = bytes.split_at(end);
    let is_chunked =
        String::from_utf8_lossy(head).to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { whole(body)? } else { body.to_vec() };
    Ok(DockerAnswer { status: status(head)?, body })
}

/// Decodes a chunked body.
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

/// Which stream a piece of output belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Output,
    Errors,
}

/// The output of a started command: stdout and stderr in frames with an eight-byte header.
pub(super) struct Output {
    reader: Reader,
    buffer: Vec<u8>,
    /// Bytes left in the current frame.
    left: usize,
    /// Stream of the current frame.
    origin: Origin,
}

impl Output {
    /// Returns the next piece; `None` at the end. Cancel-safe: nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<(Origin, Vec<u8>)>> {
        loop {
            if self.left == 0 && self.buffer.len() >= 8 {
                let size = [self.buffer[4], self.buffer[5], self.buffer[6], self.buffer[7]];
                self.left = u32::from_be_bytes(size) as usize;
                self.origin = if self.buffer[0] == 2 { Origin::Errors } else { Origin::Output };
                self.buffer.drain(..8);
                // The frame may be empty, and the next one may already be here.
                continue;
            }
            if self.left > 0 && !self.buffer.is_empty() {
                let rest = self.buffer.split_off(self.left.min(self.buffer.len()));
                let piece = std::mem::replace(&mut self.buffer, rest);
                self.left -= piece.len();
                return Ok(Some((self.origin, piece)));
            }
            let mut piece = vec![0; PIECE];
            match self.reader.read(&mut piece).await? {
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

    #[tokio::test]
    async fn output_and_errors_are_separated_wherever_frames_are_cut() {
        let bytes = b"\x01\0\0\0\0\0\0\x05hello\x02\0\0\0\0\0\0\x03bad\x01\0\0\0\0\0\0\x01!";
        for at in 0..bytes.len() {
            let (first, rest) = bytes.split_at(at);
            let mut output =
                Output { reader: Box::new(rest), buffer: first.to_vec(), left: 0, origin: Origin::Output };
            let (mut said, mut errors) = (Vec::new(), Vec::new());
            while let Some((origin, piece)) = output.next().await.unwrap() {
                if origin == Origin::Errors { errors.extend(piece) } else { said.extend(piece) }
            }
            assert_eq!((&*said, &*errors), (&b"hello!"[..], &b"bad"[..]), "cut at {at}");
        }
    }
}
