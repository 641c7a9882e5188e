//! Amazon Bedrock: the Converse interface, signed the way AWS wants it.
//!
//! `wire` writes requests, `stream` reads answers, `sigv4` signs, `credentials` finds what to sign with, `dialect` joins
//! them to the service. The binary framing of a streamed answer is one of this crate's framings, in `stream::binary`.

mod credentials;
mod dialect;
mod signer;
mod sigv4;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use credentials::resolve;
pub(crate) use dialect::{Bedrock, outgoing, streams_no_tools};
pub(crate) use signer::Signer;

/// The name under which thoughts are kept in a transcript, to be sent back unchanged.
const DIALECT: &str = "bedrock";
