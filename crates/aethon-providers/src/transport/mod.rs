//! Plain HTTP for the providers: one request out, one body in, piece by piece.
//!
//! `client` sends requests on the blocking pool and keeps idle connections, `body` is the async side of a response,
//! which shuts the socket down when dropped, `failure` says what went wrong without knowing providers, `exchange`
//! offers the transport to other parts of the program. `unpacking` decompresses bodies. Nothing here
//! retries.

mod body;
mod client;
mod exchange;
mod failure;
#[cfg(test)]
mod tests;
mod unpacking;

pub(crate) use body::Body;
pub(crate) use client::{Client, Incoming, Method, Outgoing};
pub use exchange::exchange;
pub(crate) use failure::Failure;
