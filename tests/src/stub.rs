//! A stub model service: answers each request with prepared bytes and records the requests.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// A service on loopback. Each request gets the next answer; once they are used up, the last one is repeated.
pub struct Stub {
    /// The address it listens on.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    is_left_out: fn(&Seen) -> bool,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The request line without the version, such as `POST /v1/chat/completions`.
    pub line: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The first header with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a request body is JSON")
    }

    /// Reads a request from a connection.
    pub fn read(connection: &TcpStream) -> std::io::Result<Self> {
        connection.set_read_timeout(Some(crate::http::TIMEOUT))?;
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
    /// Starts the service with its answers, each a complete HTTP response. The connection is closed after each. Queries
    /// about its models are not answered and do not count.
    pub fn start(answers: Vec<Vec<u8>>) -> Self {
        Self::in_order(answers, |seen| {
            ["/models", "/props"]
                .iter()
                .any(|path| seen.line.starts_with("GET ") && seen.line.ends_with(path))
        })
    }

    /// Starts the service with its answers to all requests, also to queries about its models.
    pub fn start_with_queries(answers: Vec<Vec<u8>>) -> Self {
        Self::in_order(answers, |_| false)
    }

    fn in_order(answers: Vec<Vec<u8>>, is_refused: fn(&Seen) -> bool) -> Self {
        let mut answers = VecDeque::from(answers);
        let mut stub = Self::answering(move |seen| {
            if is_refused(seen) {
                return failure("404 Not Found", "", "{}");
            }
            let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            answer.unwrap_or_default()
        });
        stub.is_left_out = is_refused;
        stub
    }

    /// Starts the service with a function that maps each request to a complete HTTP response.
    pub fn answering(mut answer: impl FnMut(&Seen) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for the stand-in");
        let address = listener.local_addr().expect("it has an address");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let record = seen.clone();
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                // A client may leave mid-answer.
                let _ = serve(&connection, &mut answer, &record);
            }
        });
        Self { address, seen, is_left_out: |_| false }
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| !(self.is_left_out)(seen)).cloned().collect()
    }
}

/// A 200 response with this content that closes the connection.
pub fn ok(content_type: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// An error response with a JSON body.
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
