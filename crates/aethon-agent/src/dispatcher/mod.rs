//! Which turn runs when: one after the other within a session, sessions side by side, all of it bounded.

mod job;
mod queues;

pub(crate) use job::{Job, Stage, TurnHandle};
pub(crate) use queues::{Position, SessionQueues};
