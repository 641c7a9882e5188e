//! Calls that a model writes into its text, because it (or the server in front of it) knows no other way: an event
//! stream goes in, and the same stream comes out with those calls as [`aethon_core::model::ModelEvent::ToolCall`].
//!
//! `adapter` is the stream; `reading` decides from the request whether and how strictly to read; `scanner` processes
//! the text as it arrives and holds back only what may still become a call; `prose` tracks code and quotations,
//! `region` finds the end of a call, `quoted` detects mere repetition. `families` has the formats as data, `family` says
//! how a row is read, `values` has the parts that formats share, and `call` is the result. All but `adapter` is pure, takes
//! linear time and never holds more than `call::MAX_LEN` bytes.
//!
//! Before that, `thought_adapter` takes out of the text the thoughts that a server left in it; `thoughts` finds them.

mod adapter;
mod call;
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
mod thought_adapter;
mod thoughts;
mod values;

pub use adapter::calls_in_words;
pub(crate) use adapter::read;
pub use reading::is_text_call;
pub(crate) use reading::{Reading, are_read};
pub(crate) use thought_adapter::{may_think_in_text, read_thoughts};
pub(crate) use thoughts::ThoughtHabit;
