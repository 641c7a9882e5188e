//! The dialect of OpenAI's responses API.
//!
//! `wire` writes requests, `stream` reads responses and keeps encrypted thoughts, `dialect` connects them to the
//! service, `switch` chooses between this API and chat completions. Nothing is stored at the service: each request
//! carries the whole conversation.

mod dialect;
mod stream;
mod switch;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::Responses;
pub(crate) use switch::EitherApi;

/// The name under which thoughts are stored in a transcript, to be sent back unchanged.
const DIALECT: &str = "responses";
