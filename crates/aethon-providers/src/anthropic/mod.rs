//! The dialect of Anthropic's messages API.
//!
//! `wire` writes requests and sets cache marks, `thinking` controls thinking, `stream` reads responses and keeps
//! thoughts with their signatures, `dialect` connects them to the service in either version of the API.

#[cfg(test)]
mod cache_tests;
mod dialect;
mod search;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod thinking;
mod wire;

pub(crate) use dialect::Anthropic;

/// The name under which thoughts are stored in a transcript, to be sent back unchanged.
const DIALECT: &str = "anthropic";
