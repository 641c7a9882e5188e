//! Telegram, over the Bot API: long polling in, messages with entities out.
//!
//! `wire` has the shapes, `api` makes a call, `updates` reads what comes, `inbound` makes an arrival of a message, `form`
//! writes styled text as entities, `upload` a file.

mod api;
mod form;
mod inbound;
mod platform;
mod updates;
mod upload;
mod wire;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

use crate::options::{Rules, Surroundings};
use crate::talk::Messenger;

pub use updates::POLL;

/// What Telegram needs besides the rules.
pub struct Options {
    /// The Bot API's address.
    pub api_base: String,
    /// The bot's token.
    pub token: Secret,
    /// For calls that are answered at once.
    pub exchange: Arc<dyn Exchange>,
    /// For those that wait for updates: it has to bear a silence of [`POLL`] and some seconds.
    pub polling: Arc<dyn Exchange>,
}

/// The channel.
pub fn channel(options: Options, rules: Rules, around: Surroundings) -> Messenger {
    let platform = platform::Telegram::new(options, around.records.clone());
    Messenger::new(Arc::new(platform), platform::is_recipient, rules, around)
}
