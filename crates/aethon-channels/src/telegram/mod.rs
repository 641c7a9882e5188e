//! Telegram, over the Bot API: long polling in, messages with entities out.
//!
//! `wire` has the shapes, `api` makes a call, `updates` reads what comes, `inbound` makes an arrival of a message, `form`
//! writes styled text as entities, `newer` has the forms of messages that older servers do not know.

mod api;
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

/// What Telegram needs besides the rules.
pub struct Options {
    /// The Bot API's address.
    pub api_base: String,
    /// The bot's token.
    pub token: Secret,
    /// Whether replies in private chats are shown by drafts while they grow.
    pub drafts: bool,
    /// Whether replies with headings or tables are rich messages.
    pub rich: bool,
    /// How many messages and edits a second Telegram takes, in all chats together; 0 for as many as there are.
    pub messages_a_second: u32,
    /// For calls that are answered at once.
    pub exchange: Arc<dyn Exchange>,
    /// For those that wait for updates: it has to bear a silence of [`POLL`] and some seconds.
    pub polling: Arc<dyn Exchange>,
}
