//! The WebSockets over a real server on loopback, with a scripted assistant behind it (`docs/contract/sockets.md`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    missing_docs,
    reason = "the allowance for tests does not reach the functions that they share, of which none uses all"
)]

mod chat_v1;
mod client;
#[path = "../common/mod.rs"]
mod common;
mod dashboard;
#[path = "../fakes/mod.rs"]
mod fakes;
mod gate;
mod limits;
mod plain;
mod resume;
mod script;
mod stage;
