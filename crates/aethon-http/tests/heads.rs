//! Damaged requests on real sockets: each gets an answer or an end, and the server keeps working.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    missing_docs,
    reason = "a test's own functions fail the test by panicking"
)]

mod common;
mod fakes;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use aethon_core::fuzz_targets;
use aethon_http::Options;

const HEADS: [&str; 5] = [
    "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"text\": \"one\"}",
    "POST /webhook/trigger HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nf\r\n{\"text\": \"one\"}\r\n0\r\n\r\n",
    "GET /ws/chat?session=a HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "GET http://localhost/api/sessions?limit=5 HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; c\r\nRange: bytes=0-\r\nExpect: 100-continue\r\n\r\n",
];

/// Returns the server of all inputs; its runtime lives as long as the process.
fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = common::start(Options::default()).await;
                tell.send(server.address).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().unwrap()
    })
}

/// Sends bytes and what ends them, and returns all that comes back.
fn send(bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(25))).unwrap();
    // The server may close the connection of a refused request while it is sent.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => answer,
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => answer,
        Err(error) => panic!("no end: {error}, after {:?}", String::from_utf8_lossy(&answer)),
    }
}

fuzz_targets! {
    fuzz_heads: HEADS => |input| {
        let answer = send(input);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{:?}", answer.escape_ascii().to_string());
        let health = send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert!(health.starts_with(b"HTTP/1.1 200"), "it is not there any more");
    };
}
