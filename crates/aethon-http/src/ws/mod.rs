//! The WebSockets: `/ws/chat` and `/ws/dashboard`.
//!
//! `handshake` completes an upgrade and starts the one task that a socket is. `socket` is the connection as that task sees
//! it: texts in, texts out, pings, a pace, a farewell. On it run `plain` (a message in, a reply out), `chat_v1` (the JSON
//! protocol of the page) and `dashboard` (what happens, live, from the one `feed`). The [`Hub`] keeps a `room` for each session in use: the
//! log of its frames, which every socket reads at its own pace. A `turn_surface` is the surface of one turn and writes into its
//! room. `frames` has the words on the wire.

mod attachments;
mod chat_v1;
mod dashboard;
mod feed;
mod frames;
mod handshake;
mod hub;
mod log;
mod log_bound;
mod plain;
mod room;
mod socket;
mod turn_surface;
mod webchat;

pub use frames::frames_of;
pub use hub::Hub;
pub(crate) use hub::SWEEP;
pub use webchat::WebChat;

pub(crate) use feed::Feed;
pub(crate) use handshake::{SocketKind, upgrade};
