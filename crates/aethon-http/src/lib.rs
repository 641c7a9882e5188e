//! The HTTP application of Aethon: pages, JSON API, WebSockets and webhooks on one address.
//!
//! A request's way: [`server`] accepts the connection and bounds it, `service` checks Host, access, method and origin by
//! the one table in `routes`, a handler in `api`, `webhook`, `pages`, `assets` or `ws` answers, and `response` puts the
//! headers on that every answer carries. Everything that a handler may touch is in [`app::App`]; what the program can be
//! told is in [`options::Options`]. hyper is named in this crate and nowhere else.

mod api;
pub mod app;
mod assets;
mod auth;
mod connection;
mod error;
#[cfg(test)]
#[path = "../tests/fakes/mod.rs"]
mod fakes;
mod fields;
pub mod host;
mod limits;
mod markdown;
pub mod options;
mod origin;
mod pages;
mod request;
mod response;
mod router;
mod routes;
pub mod server;
mod service;
mod signature;
mod webhook;
pub mod ws;

pub use app::{App, Deps};
pub use error::{Error, Result};
pub use host::is_loopback_host;
pub use options::Options;
pub use server::Server;
