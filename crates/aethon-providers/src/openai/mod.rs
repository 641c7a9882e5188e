//! The dialect of OpenAI's chat completions, which most of the world speaks.
//!
//! `wire` writes requests, `stream` reads answers, `dialect` joins them to a service. Where a service differs from OpenAI,
//! `profile` says so as data.

mod describe;
mod dialect;
mod profile;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use dialect::OpenAi;
pub(crate) use profile::{CallIdForm, OPENAI, Profile};
pub(crate) use wire::reasons_by_itself;
