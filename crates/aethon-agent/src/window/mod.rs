//! What of a conversation a model sees: its newest messages, as many as fit.
//!
//! The windows of the sessions in use are kept in memory, so that a turn reads nothing from the storage and costs the same
//! however long the transcript is.

mod cache;
mod estimate;
mod pairs;
mod view;

pub(crate) use cache::Windows;
pub(crate) use pairs::{failed, missing_results};
pub(crate) use view::{Window, room};
