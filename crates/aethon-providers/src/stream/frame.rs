//! A frame with a name: a server-sent event, or a binary message; and what is read from frames.

use std::collections::VecDeque;

use aethon_core::model::ModelEvent;

/// The prefix of the name of a binary message that reports a failure. The service's error name follows.
pub(crate) const FAILURE: &str = "failure:";

/// A frame's name and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

/// The queue to which events are added.
pub(crate) type Events = VecDeque<ModelEvent>;
