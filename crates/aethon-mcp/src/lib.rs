//! The Model Context Protocol, as server and as client, over the official SDK.
//!
//! `server` offers the assistant's own tools to any MCP client over a pair of pipes; `client` borrows the tools of
//! other servers, which run as child programs or behind a URL; `oauth` signs in to those that ask for it. The SDK speaks the protocol. Defending against the other
//! side is our job: both modules bound and check input before anything acts on it. Starting programs and
//! sending requests are traits of the core, which the facade implements.

pub mod client;
mod error;
pub mod oauth;
pub mod server;

pub use error::Error;

/// The name under which this program introduces itself.
const NAME: &str = "aethon";
