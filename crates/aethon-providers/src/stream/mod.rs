//! From the bytes of a response to the events of the core.
//!
//! `sse`, `lines` and `binary` cut bytes into frames and know no provider; a [`Decoder`] turns frames into events and
//! knows no bytes; `decoding` joins the two. All of it is synchronous, so that tests can cut a recorded response at
//! every byte. `calls` has what several dialects must get right about tool calls.

pub(crate) mod binary;
mod calls;
mod decoding;
mod ending;
mod frame;
mod halves;
mod lines;
pub(crate) mod loose;
mod objects;
#[cfg(test)]
pub(crate) mod replay;
mod sse;
mod surrogate;

pub(crate) use calls::{CallIds, arguments, arguments_of, tool_name};
pub(crate) use decoding::{Decoder, Decoding, Framing, Progress};
pub(crate) use ending::Ending;
pub(crate) use frame::{Events, FAILURE};
