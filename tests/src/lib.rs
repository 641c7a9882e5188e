//! Shared parts of the black-box tests: the built programs on their own homes, a raw HTTP client, a WebSocket client.
//!
//! The tests know the programs only from outside: arguments, exit status, output, files, and the bytes on their port. So the
//! client uses a bare socket; a convenient library would hide the bytes sent. Every wait has a deadline, the system picks every
//! port, and every home is new.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this crate only serves tests, where a failed expectation is the result"
)]

pub mod billing;
pub mod browser;
pub mod cable;
pub mod connection_faults;
pub mod discord;
pub mod docker;
pub mod dockerd;
pub mod gateways;
pub mod hostile;
pub mod http;
pub mod idle_services;
pub mod mail;
pub mod matrix;
pub mod openapi;
pub mod random;
pub mod server;
pub mod socket;
pub mod storage;
pub mod strict;
pub mod stub;
pub mod telegram;
pub mod terminal;
pub mod time;
pub mod whisper;

use std::time::{Duration, Instant};

pub use billing::Billing;
pub use browser::Browser;
pub use http::{Request, Response};
pub use random::Random;
pub use server::{ResourceUse, Server, home, program, run, run_cli, run_server, server_command};
pub use socket::Socket;
pub use stub::Stub;
pub use terminal::Terminal;

/// Polls until there is a result; panics if that takes too long.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + http::TIMEOUT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Computes `X-Aethon-Signature` for a body: its HMAC-SHA256 in lower-case hex.
pub fn signature(secret: &str, body: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    ring::hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
