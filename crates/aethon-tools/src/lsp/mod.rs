//! Code intelligence: language servers, connected through their pipes.
//!
//! `framing` reads and writes messages, `connection` matches answers to requests and collects notifications, `server`
//! is a running server and the documents it knows, `servers` chooses the server for a file and starts it where programs
//! run, `answers` formats results of servers, and `tool` is the tool itself. A server is a foreign program: its output
//! is bounded, every wait for it has a deadline, and its text is data.

mod answers;
mod connection;
mod framing;
mod server;
mod servers;
mod tool;

pub(crate) use answers::has_errors;
pub use servers::{LanguageServer, LanguageServers, LspOptions};
pub(crate) use tool::Lsp;
