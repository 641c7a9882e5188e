//! The HTTP application of Aethon: pages, JSON API, WebSockets and webhooks on one address.
//!
//! A request's way: [`server`] accepts the connection and bounds it, `service` checks Host, access, method and origin by
//! the one table in `routes`, a handler there or in `webhook`, `pages`, `assets` or `ws` answers, and `response` puts the
//! headers on that every answer carries. What the program hands over is in [`deps`], by groups of which a handler names
//! those that it needs; what the program can be told is in [`options::Options`]; what a conversation looks like as JSON is
//! in [`json`]. hyper is named in this crate and nowhere else.

pub mod app;
mod assets;
mod auth;
mod body;
mod connection;
mod crowd;
pub mod deps;
mod error;
#[cfg(test)]
#[path = "../tests/fakes/mod.rs"]
mod fakes;
mod fields;
#[cfg(test)]
mod fuzz;
mod guarded_stream;
mod hex;
pub mod host;
pub mod json;
mod limits;
mod markdown;
mod openapi;
pub mod options;
mod origin;
mod pace;
mod pages;
mod pattern;
mod platform_calls;
mod progress;
mod replay;
mod request;
mod response;
mod router;
mod routes;
mod rules;
pub mod server;
mod service;
mod signature;
mod standing;
mod traffic;
mod trail;
mod twin;
mod webhook;
pub mod ws;

pub use app::App;
pub use deps::Deps;
pub use error::{Error, Result};
pub use host::is_loopback_host;
pub use options::Options;
pub use server::Server;
