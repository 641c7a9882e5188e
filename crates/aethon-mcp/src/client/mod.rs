//! Other servers' tools, for the assistant.
//!
//! `servers` is all of them together, and a source of tools; `board` is what is known of each at this moment. Every server
//! has a `keeper`, which connects (`connect`), looks after one connection (`session`), and tries again when it ends. What a
//! server says is bounded and checked before anybody sees it: `screen` counts its messages, `listing` reads its list of
//! tools, `returned` its results. `tool` is one borrowed tool, `http` the way to a server behind an address, `refusal`
//! what such a server refuses.

mod board;
mod connect;
mod http;
mod keeper;
mod listing;
mod news;
mod options;
mod refusal;
mod returned;
mod screen;
mod servers;
mod session;
mod stderr;
mod tool;
mod words;

pub use board::ServerState;
pub use options::{Address, Options, ServerOptions};
pub use servers::Servers;
