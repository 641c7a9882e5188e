//! Matrix, over the client-server API: sync in, events with a transaction id out.
//!
//! `api` makes a request, `sync` reads what comes and fills gaps, `invitations` joins and leaves rooms, `inbound` makes an arrival of an event, `form` writes styled
//! text as HTML. Encrypted rooms are not read; that is said once in each.

mod api;
mod form;
mod inbound;
mod invitations;
mod platform;
mod sync;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

pub use platform::channel;
pub use sync::POLL;

/// What Matrix needs besides the rules.
pub struct Options {
    /// The homeserver's address.
    pub api_base: String,
    /// The account that the token has to belong to. Empty: whichever it is.
    pub user_id: String,
    /// The bot's access token.
    pub token: Secret,
    /// For requests that are answered at once.
    pub exchange: Arc<dyn Exchange>,
    /// For those that wait for events: it has to bear a silence of [`POLL`] and some seconds.
    pub polling: Arc<dyn Exchange>,
}
