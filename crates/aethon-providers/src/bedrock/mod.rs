//! Amazon Bedrock: the Converse API, with AWS request signing.
//!
//! `wire` writes requests, `stream` reads responses, `sigv4` signs, `credentials` finds the credentials, `dialect`
//! connects them to the service. The binary framing of streamed responses is in `stream::binary` of this crate.

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

/// The name under which thoughts are stored in a transcript, to be sent back unchanged.
const DIALECT: &str = "bedrock";
