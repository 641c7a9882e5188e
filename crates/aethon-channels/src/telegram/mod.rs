//! Telegram, over the Bot API: long polling in, messages with entities out.
//!
//! `wire` defines the JSON types, `api` makes calls, `updates` reads what arrives, `inbound` converts messages to
//! arrivals, `form` converts styled text to entities, `newer` has the message types that older servers do not know.

mod api;
mod content;
mod form;
mod inbound;
mod newer;
mod platform;
mod updates;
mod wire;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

pub use platform::channel;
pub use updates::POLL;

/// Settings of Telegram besides the rules.
pub struct Options {
    /// Address of the Bot API.
    pub api_base: String,
    /// The bot's token.
    pub token: Secret,
    /// Whether growing replies in private chats are shown as drafts.
    pub drafts: bool,
    /// Whether replies with headings or tables are sent as rich messages.
    pub rich: bool,
    /// How many messages and edits a second Telegram allows in all chats together; 0 for no limit.
    pub messages_a_second: u32,
    /// For calls that return immediately.
    pub exchange: Arc<dyn Exchange>,
    /// For calls that wait for updates. It must tolerate a silence of [`POLL`] and some seconds.
    pub polling: Arc<dyn Exchange>,
}
