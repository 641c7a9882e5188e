//! Scheduled jobs: accepting them (`book`, `check`, `strangers`), finding due jobs (`watch`, `scheduler`), and running one
//! (`executor`).
//!
//! A run is an ordinary turn in a session of its own, through the same entry point as every message, without a person
//! to ask. The storage decides who runs what, in one transaction. The turn's dedupe id names its run, so a run that a
//! crash cut off
//! resumes as the same turn, and nothing is done twice.

mod book;
mod check;
mod executor;
mod missed;
mod options;
mod scheduler;
mod strangers;
mod wake;
mod watch;

pub use book::{BookParts, JobBook};
pub use options::BookOptions;
pub use scheduler::{Scheduler, SchedulerParts};
pub use strangers::StrangerJobs;
pub use wake::ScheduleWake;
