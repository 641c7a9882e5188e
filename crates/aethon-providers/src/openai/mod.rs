//! The dialect of OpenAI's chat completions, which most of the world speaks.
//!
//! `wire` writes requests, `stream` reads answers, `dialect` joins them to a service. Where a service differs from OpenAI,
//! `profile` says so as data; `thoughts` is what goes back of thoughts that led to calls.

mod describe;
mod dialect;
mod profile;
mod stream;
#[cfg(test)]
mod tests;
mod thoughts;
mod wire;

pub(crate) use dialect::OpenAi;
pub(crate) use profile::{CallIdForm, EffortForm, OPENAI, Profile};
