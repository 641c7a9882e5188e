//! Black-box tests of the built programs. A folder for each area.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

mod assistant;
mod durable;
mod guards;
mod messengers;
mod models;
mod packages;
mod server;
mod terminal;
