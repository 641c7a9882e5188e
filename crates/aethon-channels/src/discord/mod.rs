//! Discord: the gateway in, REST out.
//!
//! `api` makes a request within Discord's limits, `gateway` keeps the session and resumes it, `history` fetches what a lost
//! session has missed, `inbound` makes an arrival of an event, `form` writes styled text as Discord's Markdown, `platform`
//! sends and edits.

mod api;
mod form;
mod gateway;
mod history;
mod inbound;
mod platform;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

use crate::socket::Dial;

pub use platform::channel;

/// What Discord needs besides the rules.
pub struct Options {
    /// The REST interface's address.
    pub api_base: String,
    /// The bot's token.
    pub token: Secret,
    /// Whether to ask for the content of messages that are not for us: a privileged intent.
    pub message_content: bool,
    /// For requests.
    pub exchange: Arc<dyn Exchange>,
    /// For the gateway.
    pub dial: Arc<dyn Dial>,
}
