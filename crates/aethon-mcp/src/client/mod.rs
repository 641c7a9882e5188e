//! The tools of other MCP servers, for the assistant.
//!
//! `servers` is the set of all servers and a source of tools; `board` holds the current state of each. Every server has
//! a `keeper`, which connects (`connect`), runs one connection (`session`), and retries when it ends. Results of a
//! server says is bounded and checked before anybody sees it: `flood_guard` counts its messages, `listing` reads its
//! list of tools and `relisting` says how often, `returned` its results; `oversize` and `repair` see to it that one odd or too large part costs itself. `tool` is one borrowed tool, `http` the
//! transport to a server behind a URL, `refusal` describes what such a server refused.

mod board;
mod connect;
mod flood_guard;
mod http;
mod keeper;
mod listing;
mod options;
mod oversize;
mod refusal;
mod relisting;
mod repair;
mod returned;
mod servers;
mod session;
mod signals;
mod stderr;
mod tool;
mod words;

pub use board::{ServerState, ToolsByServer};
pub use options::{Address, Options, ServerOptions};
pub use servers::Servers;
