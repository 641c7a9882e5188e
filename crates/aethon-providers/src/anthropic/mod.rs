//! The dialect of Anthropic's messages.
//!
//! `wire` writes requests and marks what the service should cache, `thinking` says how it is told to
//! think, `stream` reads answers and keeps thoughts with their
//! signatures, `dialect` joins them to the service in either revision of the interface.

#[cfg(test)]
mod cache_tests;
mod dialect;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod thinking;
mod wire;

pub(crate) use dialect::Anthropic;

/// The name under which thoughts are kept in a transcript, to be sent back unchanged.
const DIALECT: &str = "anthropic";
