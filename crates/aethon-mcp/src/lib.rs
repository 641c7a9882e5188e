//! The Model Context Protocol, both ways, over the official SDK.
//!
//! `server` offers the assistant's own tools to any MCP client over a pair of pipes; `client` borrows the tools of other
//! servers, which run as programs beside the assistant or behind an address. What the protocol says is the SDK's business.
//! What a stranger may do to us is ours: both sides bound and check what comes in before anybody acts on it. Starting
//! programs and sending requests are traits of the core, filled in by the facade.

pub mod client;
mod error;
pub mod server;

pub use error::Error;

/// The name under which this program introduces itself.
const NAME: &str = "aethon";
