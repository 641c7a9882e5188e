//! Scheduled jobs, the times at which they are due, and the records of their runs.
//!
//! [`Cron`] computes when an expression is next due. A [`Job`] is a SOP or a prompt with a [`Timing`]; [`JobStore`]
//! keeps jobs and [`RunLog`] their runs, including the one operation that decides who runs what: [`RunLog::begin`].
//! [`Schedule`] is the owner's interface: the API, the tools and the terminal all go through it.

mod cron;
mod job;
mod job_id;
mod request;
mod run;
mod run_log;
mod zone;

pub use cron::{Cron, InvalidCron};
pub use job::{Job, JobRecord, JobStore, Missed, Origin, Task, Timing};
pub use job_id::{InvalidJobId, JobId};
pub use request::{FieldFault, JobEdits, JobRefusal, JobRequest, Schedule};
pub use run::{BeginRun, Due, EndRun, RunRecord, RunStatus};
pub use run_log::RunLog;
pub use zone::{zone, zone_name, zone_warning};
