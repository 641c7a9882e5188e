//! Slack: Socket Mode in, the Web API out.
//!
//! `api` calls a method, `socket` keeps the connection and confirms what was stored, `inbound` makes an arrival of an event,
//! `form` writes styled text as `mrkdwn`, `platform` sends and edits, once, `stream` lets a
//! reply grow in a stream of Slack's own.

mod api;
mod form;
mod inbound;
mod platform;
mod socket;
mod stream;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

use crate::socket::Dial;

pub use platform::channel;

/// What Slack needs besides the rules.
pub struct Options {
    /// The Web API's address.
    pub api_base: String,
    /// The bot's token, `xoxb-...`.
    pub bot_token: Secret,
    /// The app-level token that opens the socket, `xapp-...`.
    pub app_token: Secret,
    /// Whether a reply grows in a stream of Slack's own, where there can be one.
    pub native_streams: bool,
    /// For calls.
    pub exchange: Arc<dyn Exchange>,
    /// For the socket.
    pub dial: Arc<dyn Dial>,
}
