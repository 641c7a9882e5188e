//! Black-box tests of the built programs. Each module is a part of the contract and cites its section.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "in tests a failed expectation is the result"
)]

mod api;
mod browser;
mod config;
mod connections;
mod home;
mod host;
mod requests;
mod responses;
mod secrets;
mod sessions;
mod start;
mod stop;
mod token;
