//! What of a conversation a model sees, so that it always fits.
//!
//! `view` is the window of a session, `cache` keeps those in use in memory, so that a turn reads nothing from the storage;
//! `estimate` and `gauge` count tokens, `limits` say how many there may be; `shorten`, `plan` and `digest` are the means to
//! get there, and `pairs` sees to it that every call has its result. The engine decides when which of them is used.

mod cache;
mod digest;
mod estimate;
mod gauge;
mod limits;
mod pairs;
mod plan;
mod shorten;
mod view;

pub(crate) use cache::Windows;
pub(crate) use digest::{digest, transcript};
pub(crate) use estimate::{text as estimate_text, tools as estimate_tools};
pub(crate) use gauge::Gauge;
pub(crate) use limits::Limits;
pub(crate) use pairs::{failed, missing_results};
pub(crate) use plan::{Target, plan};
pub(crate) use view::{SAID_CALL, Window, is_summary};
