//! The part of a conversation that a model sees, and the means to make it fit.
//!
//! `view` is the window of a session, and `cache` keeps recently used windows in memory, so that a turn need not read
//! the storage. `estimate` and `counter` count tokens, `limits` says how many are allowed, and `shorten` and `plan`
//! are the means to stay within that; `pairs` ensures that every call has its result. Messages that leave the window
//! become a `summary` made from the `transcript`, which a model reads part by part, or a `digest` when no model
//! answers. The engine decides when to use which.

mod cache;
mod counter;
mod digest;
mod estimate;
mod limits;
mod pairs;
mod plan;
mod shorten;
mod summary;
mod tokens;
mod transcript;
mod view;

pub(crate) use cache::{ContextWindows, WindowOwner};
pub(crate) use counter::TokenCounter;
pub(crate) use digest::digest;
pub(crate) use estimate::{text as estimate_text, tools as estimate_tools};
pub(crate) use limits::Limits;
pub(crate) use pairs::{missing_results, open_calls};
pub(crate) use plan::{Target, plan};
pub(crate) use summary::Summary;
pub(crate) use transcript::Transcript;
pub(crate) use view::{ContextWindow, Earlier, Prefix, is_summary};
