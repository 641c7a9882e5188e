//! Signing in to remote MCP servers: OAuth 2.1 with PKCE, as the authorization chapter of the protocol has it.
//!
//! The SDK has an implementation too, which brings a second HTTP client with it. Here every request goes through an
//! [`Exchange`](aethon_core::exchange::Exchange), so that the rules for outgoing connections hold.
//!
//! `challenge` reads a server's 401 or 403, `place` judges URLs, `preset` is the owner's configuration, `metadata` finds the
//! authorization server, `registration` introduces this program to it, `login` is one sign-in of a person, `redirect` receives
//! their browser, `grant` is the result, `token` requests tokens, and `fetch` carries all these requests. `authorized`
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
