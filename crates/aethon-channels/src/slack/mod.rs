//! Slack: Socket Mode in, the Web API out.
//!
//! `api` calls methods, `socket` keeps the connection and acknowledges stored events, `inbound` converts events to arrivals,
//! `content` reads blocks and marks, `thread` knows the earlier messages of a thread, `form` converts styled text to `mrkdwn`,
//! `platform` sends each message once and edits, `stream` shows a growing reply in one of Slack's native streams.

mod account;
mod api;
mod content;
mod edits;
mod form;
mod inbound;
mod platform;
mod socket;
mod stream;
mod streams;
mod thread;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

use crate::socket::Dial;

pub use platform::channel;

/// Settings of Slack besides the rules.
pub struct Options {
    /// Address of the Web API.
    pub api_base: String,
    /// The bot's token, `xoxb-...`.
    pub bot_token: Secret,
    /// The app-level token that opens the socket, `xapp-...`.
    pub app_token: Secret,
    /// Whether growing replies use Slack's native streams where possible.
    pub native_streams: bool,
    /// For calls.
    pub exchange: Arc<dyn Exchange>,
    /// For the socket.
    pub dial: Arc<dyn Dial>,
}
