//! The dialect of OpenAI's responses API.
//!
//! `wire` writes requests, `stream` reads responses, whose form is in `events`, and keeps encrypted thoughts, `dialect` connects them to the
//! service, `auto` chooses between this API and chat completions. Nothing is stored at the service: each request
//! carries the whole conversation.

mod auto;
mod dialect;
mod events;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use auto::AutoApi;
pub(crate) use dialect::Responses;

/// The name under which thoughts are stored in a transcript, to be sent back unchanged.
const DIALECT: &str = "responses";
