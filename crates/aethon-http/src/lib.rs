//! The HTTP application of Aethon: pages, JSON API, WebSockets and webhooks on one address.
//!
//! [`server`] accepts a connection and limits it; [`mount`] takes requests from the server of an embedding program.
//! `service` checks Host, access, method and origin against the table in `routes`. A handler there or in `webhook`,
//! `pages`, `assets` or `ws` answers, and `response` adds the headers that every response carries. [`deps`] holds the
//! parts the facade supplies, in groups from which a handler names those it needs. [`options::Options`] has the settings,
//! and [`json`] defines how conversations look as JSON. No other crate uses hyper.

mod accepted;
mod access_lease;
pub mod app;
mod assets;
mod audit_notes;
mod auth;
mod base_path;
mod body;
mod body_text;
mod compress;
mod connection;
mod connections;
pub mod deps;
mod error;
#[cfg(test)]
#[path = "../tests/fakes/mod.rs"]
mod fakes;
mod fields;
#[cfg(test)]
mod fuzz;
mod guarded_stream;
mod handbook;
mod hex;
pub mod host;
mod intake;
pub mod json;
mod limits;
mod log_throttle;
mod loopback_guard;
mod markdown;
pub mod mount;
mod openapi;
pub mod options;
mod origin;
mod page_set;
mod pages;
mod pattern;
mod platform_calls;
mod precondition;
mod progress;
mod replay;
mod request;
mod response;
mod router;
mod routes;
mod rules;
mod schema;
pub mod server;
mod service;
mod signature;
mod traffic;
mod typed;
mod unix_peer;
mod unix_socket;
mod webhook;
pub mod ws;

pub use app::App;
pub use body::{Body, CutOff};
pub use deps::Deps;
pub use error::{Error, Result};
pub use host::is_loopback_host;
pub use options::Options;
pub use server::Server;
