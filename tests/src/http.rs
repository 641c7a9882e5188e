//! A raw HTTP/1.1 client: sends exactly the bytes given, and only parses the response.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for an answer.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// A request under construction.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A parsed response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The decoded body.
    pub body: Vec<u8>,
}

impl Request {
    /// Creates a request with any method.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Creates a GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// Creates a POST of JSON.
    pub fn post(target: &str, body: &Value) -> Self {
        Self::new("POST", target).header("Content-Type", "application/json").body(body.to_string())
    }

    /// Adds a header; order and duplicates are kept.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds `Authorization: Bearer`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Returns the bytes on the wire, with `Host` unless present, and `Content-Length` if there is a body.
    pub fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(have, _)| have.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !has("host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let takes_body = !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if (takes_body || !self.body.is_empty()) && !has("content-length") && !has("transfer-encoding") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it on a new connection and reads the answer.
    pub fn send(&self, address: SocketAddr) -> Response {
        let mut connection = connect(address);
        connection.write_all(&self.bytes(address)).expect("the request goes out");
        Response::read(&mut BufReader::new(connection), self.method == "HEAD").expect("an answer comes back")
    }
}

impl Response {
    /// Reads one response; more may follow on the connection.
    pub fn read(from: &mut impl BufRead, to_head: bool) -> std::io::Result<Self> {
        let line = read_line(from)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other(format!("not a status line: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(from)?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut response = Self { status, headers, body: Vec::new() };
        if !to_head && !matches!(status, 100..=199 | 204 | 304) {
            response.read_body(from)?;
        }
        Ok(response)
    }

    fn read_body(&mut self, from: &mut impl BufRead) -> std::io::Result<()> {
        if self.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            self.body = read_chunks(from)?;
            return Ok(());
        }
        match self.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => {
                self.body = vec![0; length];
                from.read_exact(&mut self.body)
            }
            None => from.read_to_end(&mut self.body).map(drop),
        }
    }

    /// The first header with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    /// Panics unless the headers required on every answer are present.
    pub fn assert_guarded(&self) {
        let policy = self.header("content-security-policy").unwrap_or_default();
        for rule in ["default-src 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{rule} is not in the policy {policy:?} of {self:?}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("unsafe-eval"), "{policy}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
        assert_eq!(self.header("referrer-policy"), Some("no-referrer"), "{self:?}");
        for name in ["cross-origin-opener-policy", "cross-origin-resource-policy", "x-request-id"] {
            assert!(self.header(name).is_some_and(|value| !value.is_empty()), "{name} of {self:?}");
        }
    }

    /// The `code` of a problem document; panics if the response is none.
    pub fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        for member in ["type", "title", "detail"] {
            assert!(problem[member].is_string(), "{member} of {problem}");
        }
        problem["code"].as_str().expect("a problem has a code").to_owned()
    }
}

/// Sends these bytes on a new connection and reads one response.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Response> {
    let mut connection = try_connect(address)?;
    // The server may answer and close before it has read everything.
    let _ = connection.write_all(bytes);
    Response::read(&mut BufReader::new(connection), bytes.starts_with(b"HEAD "))
}

/// Reads a body in chunked transfer coding.
pub fn read_chunks(from: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = usize::from_str_radix(read_line(from)?.trim(), 16).map_err(std::io::Error::other)?;
        let mut chunk = vec![0; size];
        from.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk);
        read_line(from)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Opens a connection with a read time-out.
pub fn connect(address: SocketAddr) -> TcpStream {
    try_connect(address).expect("the server accepts connections")
}

fn try_connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

fn read_line(from: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
