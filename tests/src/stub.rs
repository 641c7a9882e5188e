//! A stand-in for a model service: answers each request with prepared bytes and keeps what it was sent.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// A service on loopback. It answers the first request with the first answer and so on; further ones get the last.
pub struct Stub {
    /// Where it listens.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request that came in.
#[derive(Debug, Clone)]
pub struct Seen {
    /// `POST /v1/chat/completions`.
    pub line: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a request body is JSON")
    }

    /// Takes a request from a connection.
    pub fn read(connection: &TcpStream) -> std::io::Result<Self> {
        connection.set_read_timeout(Some(crate::http::PATIENCE))?;
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
        let mut seen = Self { line, headers: Vec::new(), body: Vec::new() };
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            seen.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if let Some(length) = seen.header("content-length").and_then(|length| length.parse().ok()) {
            seen.body = vec![0; length];
            reader.read_exact(&mut seen.body)?;
        } else if seen.header("transfer-encoding").is_some() {
            seen.body = crate::http::read_chunks(&mut reader)?;
        }
        Ok(seen)
    }
}

impl Stub {
    /// Starts it with its answers, each a whole HTTP response. The connection is closed after each.
    pub fn start(answers: Vec<Vec<u8>>) -> Self {
        let mut answers = VecDeque::from(answers);
        Self::answering(move |_| {
            let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            answer.unwrap_or_default()
        })
    }

    /// Starts it with what makes an answer, a whole HTTP response, of each request.
    pub fn answering(mut answer: impl FnMut(&Seen) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the stand-in");
        let address = listener.local_addr().expect("it has an address");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let record = seen.clone();
        // Ends with the process of the tests; nothing waits for it.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                // A client that goes away in mid-answer is its own business.
                let _ = serve(&connection, &mut answer, &record);
            }
        });
        Self { address, seen }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A 200 with this content, to be closed after.
pub fn ok(content_type: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// A failure with a JSON body.
pub fn failure(status: &str, extra: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{extra}Content-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

fn serve(
    connection: &TcpStream,
    answer: &mut dyn FnMut(&Seen) -> Vec<u8>,
    record: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    let seen = Seen::read(connection)?;
    let answer = answer(&seen);
    record.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    let mut connection = connection;
    connection.write_all(&answer)
}
