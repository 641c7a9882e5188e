//! Signing in to remote MCP servers: OAuth 2.1 with PKCE, as the authorization chapter of the protocol has it.
//!
//! The SDK has an implementation too, which brings a second HTTP client with it. Here every request goes through an
//! [`Exchange`](aethon_core::exchange::Exchange), so that the rules for outgoing connections hold.
//!
//! `challenge` reads what a server says with a 401 or 403, `place` judges URLs, `preset` is what the owner has configured, `metadata` finds the authorization server,
//! `registration` introduces this program to it, `login` is one sign-in of a person and `redirect` where their browser comes
//! back to, `grant` is what a sign-in leaves behind, `token` asks for tokens, `fetch` carries all these requests. `authorized`
//! is the transport of a server that one is signed in to.

mod authorized;
mod challenge;
mod fetch;
mod grant;
mod login;
mod metadata;
mod place;
mod preset;
mod redirect;
mod registration;
mod token;

pub use authorized::{Authorized, AuthorizedOptions};
pub use challenge::Challenge;
pub use grant::{Grant, GrantStore};
pub use login::{Login, LoginOptions, sign_out};
pub use place::hosts;
pub use preset::Preset;
pub use redirect::{Redirect, Returned};
