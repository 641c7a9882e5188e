//! What of a conversation a model sees, so that it always fits.
//!
//! `view` is the window of a session, `cache` keeps those in use in memory, so that a turn reads nothing from the storage;
//! `estimate` and `counter` count tokens, `limits` say how many there may be; `shorten` and `plan` are the means to get there,
//! and `pairs` sees to it that every call has its result. What leaves the window becomes a `summary`: of the `transcript` that a
//! model reads part by part, or of a `digest` where there is none. The engine decides when which of them is used.

mod cache;
mod counter;
mod digest;
mod estimate;
mod limits;
mod pairs;
mod plan;
mod shorten;
mod summary;
mod transcript;
mod view;

pub(crate) use cache::ContextWindows;
pub(crate) use counter::TokenCounter;
pub(crate) use digest::digest;
pub(crate) use estimate::{text as estimate_text, tools as estimate_tools};
pub(crate) use limits::Limits;
pub(crate) use pairs::missing_results;
pub(crate) use plan::{Target, plan};
pub(crate) use summary::Summary;
pub(crate) use transcript::Transcript;
pub(crate) use view::{ContextWindow, Earlier, Prefix, is_summary};
