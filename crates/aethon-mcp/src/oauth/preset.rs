//! The owner's settings for a sign-in.

use aethon_core::secret::Secret;

/// The owner's settings for the sign-in at a server, all of them optional.
#[derive(Clone, Default)]
pub struct Preset {
    /// The id under which this program is registered; without one, it registers itself.
    pub client_id: Option<String>,
    /// The secret of that registration.
    pub client_secret: Option<Secret>,
    /// The scopes to ask for, instead of those that the server names.
    pub scopes: Vec<String>,
    /// The only authorization server that is trusted.
    pub issuer: Option<String>,
}
