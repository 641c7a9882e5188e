//! Scheduled jobs: what they are, when they are due, and what is recorded about them.
//!
//! [`Cron`] computes when an expression is next due. A [`Job`] is a SOP or a prompt with a [`Timing`]; [`JobStore`]
//! keeps jobs and [`RunLog`] their runs, including the one operation that decides who runs what: [`RunLog::begin`].
//! [`Schedule`] is the owner's interface: the API, the tools and the terminal all go through it.

mod cron;
mod job;
mod request;
mod run;

pub use cron::{Cron, InvalidCron};
pub use job::{InvalidJobId, Job, JobId, JobRecord, JobStore, Missed, Origin, Task, Timing};
pub use request::{FieldFault, JobRefusal, JobRequest, Schedule};
pub use run::{BeginRun, Due, EndRun, RunLog, RunRecord, RunStatus};

use jiff::tz::TimeZone;

/// Returns the time zone with this IANA name, or the machine's own. The error says what is wrong with the name.
pub fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name)
            .map_err(|_| format!("{name:?} is no known time zone; use an IANA name such as Europe/Berlin")),
    }
}

/// Returns the name of a time zone.
pub fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}
