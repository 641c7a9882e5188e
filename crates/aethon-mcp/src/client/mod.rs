//! The tools of other MCP servers, for the assistant.
//!
//! `servers` is the set of all servers and a source of tools; `board` holds the current state of each. Every server has
//! a `keeper`, which connects (`connect`), runs one connection (`session`), and retries when it ends. Results of a
//! server says is bounded and checked before anybody sees it: `flood_guard` counts its messages, `listing` reads its
//! list of tools and `relisting` says how often, `returned` its results; `oversize` and `repair` see to it that one odd or
//! too large part costs itself. `tool` is one borrowed tool, `http` the transport to a server behind a URL; `running` knows
//! the calls of a connection, `questions` asks their people, `extras` are our tools for what servers have besides tools,
//! `hints` their words about them, `server_log` their log. `refusal` describes what a server refused.

mod board;
mod connect;
mod extras;
mod flood_guard;
mod hints;
mod http;
mod keeper;
mod listing;
mod options;
mod oversize;
mod questions;
mod refusal;
mod relisting;
mod repair;
mod returned;
mod running;
mod server_log;
mod servers;
mod session;
mod signals;
mod stderr;
mod tool;
mod words;

pub use board::{ServerState, ToolsByServer};
pub use options::{Address, Options, ServerOptions};
pub use servers::Servers;
