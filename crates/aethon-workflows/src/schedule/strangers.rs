//! How many jobs turns may make that the owner's own words did not begin: so many within a day, all together, and ten times
//! as many in all (`scheduler.max_stranger_jobs`).
//!
//! Every job that was made counts, so removing jobs makes no room. Each job made takes one of the day's places, a record that
//! expires a day later; a place is claimed in one transaction, so several programs on one home share the limit, and a
//! restart forgets nothing. A place that was taken by a clock that was ahead is taken for a day from now.

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use aethon_core::schedule::{Job, JobRecord, JobRefusal};
use jiff::{SignedDuration, Timestamp};

/// Where the places are recorded: under the channel of jobs' sessions, which is no messenger's.
const CHANNEL: &str = "schedule";
const PREFIX: &str = "stranger-job:";

/// How long a place is taken.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// How many days' jobs there may be at once.
const DAYS_KEPT: usize = 10;

/// The limit.
#[derive(Clone)]
pub struct StrangerJobs {
    records: Arc<dyn ChannelRecords>,
    max_a_day: usize,
}

/// A place of the day, taken by a job that is about to be stored.
pub(super) struct Place(String);

impl StrangerJobs {
    /// Allows so many within 24 hours.
    pub fn new(records: Arc<dyn ChannelRecords>, max_a_day: u32) -> Self {
        Self { records, max_a_day: usize::try_from(max_a_day).unwrap_or(usize::MAX) }
    }

    /// Takes a place for a job, unless there is none left. `known` are the jobs that there are.
    pub(super) async fn take(
        &self,
        job: &Job,
        known: &[JobRecord],
        now: Timestamp,
    ) -> Result<Place, JobRefusal> {
        let most = self.max_a_day.saturating_mul(DAYS_KEPT);
        if known.iter().filter(|record| !record.job.trust().is_owner()).count() >= most {
            return Err(JobRefusal::Conflict(format!(
                "there are {most} jobs already that turns made which the owner's own words did not begin, ten times \
                 `scheduler.max_stranger_jobs`; the owner can remove some"
            )));
        }
        let taken = self.records.list(CHANNEL, PREFIX, self.max_a_day).await?;
        let value = format!("{} {}", now.as_millisecond(), job.job_id.as_str());
        for (name, _) in taken.iter().filter(|(_, value)| is_ahead(value, now)) {
            self.records.put(CHANNEL, name, &value, Some(now + DAY)).await?;
        }
        let taken: BTreeSet<String> = taken.into_iter().map(|(name, _)| name).collect();
        let free = (0..self.max_a_day).map(|number| format!("{PREFIX}{number}"));
        for name in free.filter(|name| !taken.contains(name)) {
            if self.records.claim(CHANNEL, &name, &value, Some(now + DAY)).await? {
                return Ok(Place(name));
            }
        }
        Err(JobRefusal::Conflict(format!(
            "turns that the owner's own words did not begin may make {} jobs within a day, all together \
             (`scheduler.max_stranger_jobs`), and have",
            self.max_a_day
        )))
    }

    /// Gives a place back whose job was not stored.
    pub(super) async fn give_back(&self, place: Place) -> Result<()> {
        self.records.take(CHANNEL, &place.0).await.map(drop)
    }
}

/// Returns whether a place was taken at a time that is not there yet, or not known: it would be taken for as long as the clock
/// was wrong by.
fn is_ahead(value: &str, now: Timestamp) -> bool {
    let taken = value.split_once(' ').and_then(|(taken, _)| taken.parse::<i64>().ok());
    taken.is_none_or(|taken| taken > now.as_millisecond())
}
