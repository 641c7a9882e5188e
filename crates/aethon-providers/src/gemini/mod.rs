//! The dialect of Gemini's `generateContent`.
//!
//! `wire` writes requests, `stream` reads responses and keeps thought signatures, `dialect` connects them to the
//! service.

mod dialect;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::{Gemini, method_path, outgoing};

/// The name under which thought signatures are stored in a transcript, to be sent back unchanged.
const DIALECT: &str = "gemini";
