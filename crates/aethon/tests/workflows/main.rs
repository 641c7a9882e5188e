//! Workflows in front of the real engine, with a scripted model and a storage in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod harness;
mod sops;
mod work;
