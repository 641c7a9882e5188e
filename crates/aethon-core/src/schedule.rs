//! Timed jobs: what they are, when they are due, and what is kept of them.
//!
//! [`Cron`] says when an expression comes next. A [`Job`] is a SOP or a prompt with a [`Timing`]; [`JobStore`] keeps jobs
//! and [`RunLog`] their runs, with the one operation that decides who runs what: [`RunLog::begin`]. [`Schedule`] is the
//! door for owners: the API, the tools and the terminal all go through it.

mod cron;
mod job;
mod request;
mod run;

pub use cron::{Cron, InvalidCron};
pub use job::{InvalidJobId, Job, JobId, JobRecord, JobStore, Missed, Origin, Task, Timing};
pub use request::{FieldFault, JobRefusal, JobRequest, Schedule};
pub use run::{BeginRun, Due, EndRun, RunLog, RunRecord, RunStatus};

use jiff::tz::TimeZone;

/// The zone of this IANA name; the machine's own without one. The text is what is wrong with the name.
pub fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name)
            .map_err(|_| format!("{name:?} is no known time zone; use an IANA name such as Europe/Berlin")),
    }
}

/// What a zone is called.
pub fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}
