//! Decides which turn runs when: one at a time within a session, sessions in parallel, all of it bounded.

mod job;
mod queues;

pub(crate) use job::{Job, Stage, TurnHandle};
pub(crate) use queues::{Position, SessionQueues};
