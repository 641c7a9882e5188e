//! Calls that a model writes into its text, because it (or the server in front of it) knows no other way: a stream of
//! events goes in, the same stream comes out with those calls as [`aethon_core::model::ModelEvent::ToolCall`].
//!
//! `adapter` is the stream; `reading` decides from the request whether and how strictly to read; `scanner` goes through
//! the text as it comes and holds back only what may still be a call; `prose` knows what stands in code and thoughts,
//! `region` where a call ends, `quoted` what was only repeated. `families` has one file for each form that models use,
//! and `values` what these have in common. All but `adapter` is pure, takes linear time and never holds more than
//! `scanner::LONGEST` bytes.

mod adapter;
#[cfg(test)]
mod corpus;
mod families;
mod family;
mod prose;
mod quoted;
mod reading;
mod region;
mod scanner;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use adapter::read;
pub(crate) use reading::{Reading, are_read};
pub use reading::{calls_in_words, is_text_call};
