//! WhatsApp, over Meta's Cloud API: Meta's calls in, messages out.
//!
//! `calls` receives and stores what Meta sends, `inbox` passes it to the intake afterwards, `inbound` converts it to
//! arrivals, of what `content` finds in it, `words` remembers what messages said that may be answered, `api` makes requests, `form` converts styled text to WhatsApp's markup, `window` knows who can still be
//! reached with free text.
//!
//! Since January 2026, Meta's terms bar assistants like this one in most countries, and a number that violates them
//! can be closed. Every place that sets up this channel says so.

mod api;
mod calls;
mod content;
mod edits;
mod form;
mod inbound;
mod inbox;
mod platform;
mod window;
mod words;

use std::sync::Arc;

use aethon_core::exchange::Exchange;
use aethon_core::secret::Secret;

pub use platform::channel;

/// A warning for owners who enable it.
pub const TERMS: &str = "Meta's terms bar general-purpose assistants on WhatsApp (numbers of Italy and Brazil were exempt), and can close the number \
     for it";

/// Settings of WhatsApp besides the rules.
pub struct Options {
    /// Address of the Graph API.
    pub api_base: String,
    /// Its version, such as `v26.0`; empty if the address contains one.
    pub api_version: String,
    /// Meta's id of the sending number.
    pub phone_number_id: String,
    /// The access token.
    pub token: Secret,
    /// The app secret, with which Meta signs its calls.
    pub secret: Secret,
    /// The token by which Meta proves itself when it verifies the webhook address.
    pub verify_token: Secret,
    /// For requests.
    pub exchange: Arc<dyn Exchange>,
}
