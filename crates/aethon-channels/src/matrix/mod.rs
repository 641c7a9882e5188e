//! Matrix, over the client-server API: sync in, events with a transaction id out.
//!
//! `api` makes requests, `sync` reads events and fills gaps, `invitations` joins and leaves rooms, `inbound` converts
//! events to arrivals, `content` and `markup` read the content of an event, `context` looks up its references, `form` converts
//! styled text to HTML. Encrypted rooms are not read; each gets one notice.

mod api;
mod content;
mod context;
mod edits;
mod form;
mod inbound;
mod invitations;
mod markup;
mod platform;
mod sync;
mod upgrades;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

pub use platform::channel;
pub use sync::POLL;

/// Settings of Matrix besides the rules.
pub struct Options {
    /// The homeserver's address.
    pub api_base: String,
    /// The account that the token must belong to. If empty, any account will do.
    pub user_id: String,
    /// The bot's access token.
    pub token: Secret,
    /// For requests that return immediately.
    pub exchange: Arc<dyn Exchange>,
    /// For requests that wait for events. It must tolerate a silence of [`POLL`] and some seconds.
    pub polling: Arc<dyn Exchange>,
}
