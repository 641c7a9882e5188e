//! The WebSockets: `/ws/chat` and `/ws/dashboard`.
//!
//! `handshake` completes an upgrade and starts the socket's one task. `socket` is the connection as that task sees
//! it: texts in and out, pings, rate limiting, closing. It carries `plain` (a message in, a reply out), `chat_v1`
//! (the JSON protocol of the page) or `dashboard` (live events, from the shared `feed`). The [`Hub`] keeps a `room`
//! for each session in use: the log of its frames, which every socket reads at its own speed. A `turn_surface` is the
//! surface of one turn and writes to its room. `frames` defines the wire format. The `watchlist`
//! tells which conversations changed. The `relay` brings the frames of turns that run at other instances into the rooms here.

pub(crate) mod attachments;
mod chat_v1;
mod dashboard;
mod feed;
mod frames;
mod handshake;
mod hub;
mod in_sight;
mod log;
mod log_bound;
mod numbers;
mod plain;
mod relay;
mod room;
mod socket;
mod turn_surface;
mod watchlist;
mod webchat;

pub use attachments::attachment;
pub use frames::frames_of;
pub use hub::Hub;
pub(crate) use hub::SWEEP;
pub use relay::relay;
pub use webchat::WebChat;

pub(crate) use feed::Feed;
pub(crate) use handshake::{Asked, SocketKind, upgrade};
pub(crate) use watchlist::Watchlist;
