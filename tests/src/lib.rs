//! What the black-box tests share: the built programs on a home of their own, a raw HTTP client, a WebSocket client.
//!
//! The tests know the programs only from outside: their arguments, exit status, output, files, and the bytes on their
//! port. So the client is written on a bare socket; a friendly library would hide what is sent. Every wait has a
//! deadline, every port is picked by the system, every home is new.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this crate only serves tests, where a failed expectation is the result"
)]

pub mod http;
pub mod server;
pub mod socket;

pub use http::{Request, Response};
pub use server::{Server, run_cli, run_server};
pub use socket::Socket;
