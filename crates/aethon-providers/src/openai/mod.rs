//! The dialect of OpenAI's chat completions, which most services speak.
//!
//! `wire` writes requests, `stream` reads responses, `dialect` connects them to a service. `profile` lists
//! differences from OpenAI as data; `thoughts` handles thoughts that led to calls and must be sent back.

mod call_pieces;
mod chunk;
mod describe;
mod dialect;
mod pricing;
mod profile;
mod stream;
#[cfg(test)]
mod tests;
mod thoughts;
mod usage;
mod wire;

pub(crate) use dialect::OpenAi;
pub(crate) use profile::{CallIdForm, EffortForm, OPENAI, Profile};
