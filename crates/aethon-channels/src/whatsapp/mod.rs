//! WhatsApp, over Meta's Cloud API: calls of Meta in, messages out.
//!
//! `calls` takes what Meta brings and stores it, `inbox` hands it to the door afterwards, `inbound` makes arrivals of it; `api`
//! makes a request, `form` writes styled text with WhatsApp's marks, `window` knows whom free text still reaches.
//!
//! Meta's terms bar assistants like this one in most countries since January 2026, and a number that breaks them can be closed.
//! That is said wherever the channel is set up.

mod api;
mod calls;
mod form;
mod inbound;
mod inbox;
mod platform;
mod window;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

pub use platform::channel;

/// What an owner has to know before they switch it on.
pub const TERMS: &str = "Meta's terms bar general-purpose assistants on WhatsApp (numbers of Italy and Brazil were exempt), and can close the number \
     for it";

/// What WhatsApp needs besides the rules.
pub struct Options {
    /// The Graph API's address.
    pub api_base: String,
    /// Its version, such as `v26.0`; empty where the address has one.
    pub api_version: String,
    /// The number that sends, by Meta's id.
    pub phone_number_id: String,
    /// The access token.
    pub token: Secret,
    /// The app's secret, under which Meta signs its calls.
    pub secret: Secret,
    /// The word by which Meta shows that it is the one that asks for the address.
    pub verify_token: Secret,
    /// For requests.
    pub exchange: Arc<dyn Exchange>,
}
