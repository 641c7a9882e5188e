//! Code intelligence: language servers, talked to over their pipes.
//!
//! `framing` reads and writes messages, `connection` matches answers to requests and keeps what a server says by itself,
//! `server` is one that runs and the documents it knows, `servers` says which one a file needs and starts it where programs
//! start, `answers` puts what they say into words, and `tool` is what a model sees. A server is somebody else's program: what
//! it says is bounded, never waited for without an end, and data.

mod answers;
mod connection;
mod framing;
mod server;
mod servers;
mod tool;

pub(crate) use answers::has_errors;
pub use servers::{LanguageServer, LanguageServers, LspOptions};
pub(crate) use tool::Lsp;
