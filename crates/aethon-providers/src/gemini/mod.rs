//! The dialect of Gemini's `generateContent`.
//!
//! `wire` writes requests, `stream` reads answers and keeps thought signatures, `dialect` joins them to the service.

mod dialect;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::{Gemini, method_path, outgoing};

/// The name under which thought signatures are kept in a transcript, to be sent back unchanged.
const DIALECT: &str = "gemini";
