//! Timed jobs: taking them in (`book`, `check`), deciding what is due (`watch`, `scheduler`), and running one (`work`).
//!
//! A run is an ordinary turn in a session of its own, through the same door as everything else, with nobody to ask. Who
//! runs what is decided by the storage, in one transaction; the turn carries the name of its run, so a run that a crash cut
//! off is the same turn when it is taken up again, and nothing is done twice.

mod book;
mod check;
mod scheduler;
mod wake;
mod watch;
mod work;

pub use book::{BookOptions, JobBook};
pub use scheduler::{Scheduler, SchedulerParts};
pub use wake::ScheduleWake;
