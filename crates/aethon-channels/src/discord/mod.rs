//! Discord: gateway in, REST out.
//!
//! `api` makes requests within Discord's limits, `gateway` keeps and resumes the session, `history` fetches the
//! messages that a lost session missed, `inbound` converts events to arrivals, `command` answers slash commands, `content` reads
//! the content of a message, `context` looks up its surroundings and `lookups` remembers them, `form` converts styled text to
//! Discord's Markdown, `platform` sends and edits.

mod api;
mod command;
mod content;
mod context;
mod edits;
mod form;
mod gateway;
mod history;
mod inbound;
mod lookups;
mod platform;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

use crate::socket::Dial;

pub use platform::channel;

/// Settings of Discord besides the rules.
pub struct Options {
    /// Address of the REST API.
    pub api_base: String,
    /// The bot's token.
    pub token: Secret,
    /// Whether to request the content of messages not addressed to us: a privileged intent.
    pub message_content: bool,
    /// For requests.
    pub exchange: Arc<dyn Exchange>,
    /// For the gateway.
    pub dial: Arc<dyn Dial>,
}
