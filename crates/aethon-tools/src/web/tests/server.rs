//! A local server that answers as a test wants.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A received request.
#[derive(Debug, Clone)]
pub(in crate::web) struct Request {
    /// The request line without the version, such as `GET /path`.
    pub(in crate::web) line: String,
    /// The headers, in lower case.
    pub(in crate::web) head: String,
    pub(in crate::web) body: String,
}

/// A server and the requests it received. It runs until the test process ends.
pub(in crate::web) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers each request on its own connection, and closes it after the answer.
    pub(in crate::web) fn new(answer: impl Fn(&Request, TcpStream) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", answer)
    }

    pub(in crate::web) fn at(
        place: &str,
        answer: impl Fn(&Request, TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(place).unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || {
                    if let Some(request) = read(&stream) {
                        seen.lock().unwrap().push(request.clone());
                        answer(&request, stream);
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// Always answers with this body and type.
    pub(in crate::web) fn with(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::new(move |_, stream| answer(stream, "200 OK", &[("content-type", content_type)], &body))
    }

    /// Always answers with this document.
    pub(in crate::web) fn with_json(status: &'static str, document: serde_json::Value) -> Self {
        let body = document.to_string().into_bytes();
        Self::new(move |_, stream| answer(stream, status, &[("content-type", "application/json")], &body))
    }

    pub(in crate::web) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(in crate::web) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(in crate::web) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Writes a complete response. It is no error if the other side has gone.
pub(in crate::web) fn answer(mut stream: TcpStream, status: &str, headers: &[(&str, &str)], body: &[u8]) {
    let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// Redirects the client.
pub(in crate::web) fn redirect(stream: TcpStream, to: &str) {
    answer(stream, "302 Found", &[("location", to)], b"");
}

fn read(mut stream: &TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let (line, rest) = head.split_once("\r\n")?;
    let rest = rest.to_lowercase();
    let length = rest.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    Some(Request { line, head: rest, body: String::from_utf8(body).ok()? })
}
