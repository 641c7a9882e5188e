//! Schedules the upkeep of the storage: soon after a start if it is due, and every six hours.
//!
//! In between, the limits of the database and of one-shot sessions are checked every quarter of an hour: a flood of webhooks
//! must not fill the disk before the next run (`quota`).
//!
//! The storage remembers when the upkeep last ran, so a program that is started daily but never runs for six hours gets its
//! upkeep as well.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::shutdown::Shutdown;
use aethon_core::storage::{Retention, Upkeep};
use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::file_changes::ChangesUpkeep;
use crate::quota::Quota;
use crate::uploads::UploadFolder;

/// The interval between runs.
const INTERVAL: Duration = Duration::from_secs(6 * 3600);

/// How long the upkeep stays out of the way of a start.
const AFTER_START: Duration = Duration::from_secs(4);

/// The longest wait before the clock is checked again: it may have been set, and the machine may have slept.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);

/// The shortest wait, after a run that failed or that lies in the future.
const MIN_WAIT: Duration = Duration::from_secs(60);

/// Runs the upkeep of a storage.
pub(crate) struct UpkeepTask {
    pub(crate) storage: Arc<dyn Upkeep>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retention: Retention,
    pub(crate) quota: Quota,
    pub(crate) uploads: UploadFolder,
    pub(crate) changes: ChangesUpkeep,
}

impl UpkeepTask {
    /// Runs the upkeep whenever it is due, until shutdown.
    pub(crate) async fn run(mut self, mut shutdown: Shutdown) {
        let mut wait = AFTER_START;
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = sleep(wait) => {}
            }
            // A step may wait for a failing storage; shutdown does not.
            let done = tokio::select! {
                () = shutdown.requested() => return,
                done = self.step() => done,
            };
            wait = done.unwrap_or_else(|error| {
                tracing::warn!(error = &error as &dyn std::error::Error, "old rows could not be removed");
                MAX_WAIT
            });
            wait = wait.clamp(MIN_WAIT, MAX_WAIT);
        }
    }

    /// Checks the limits, and runs the upkeep if it is due. Returns the time until the next run.
    async fn step(&mut self) -> Result<Duration> {
        self.quota.look(&*self.storage).await?;
        let uploads = self.uploads.clone();
        // Nothing is lost if it fails: the next step sweeps again.
        let _ = spawn_blocking(move || uploads.sweep()).await;
        self.changes.look().await;
        let last = self.storage.marks().await?.maintained_at;
        if let Some(left) = left(last, self.clock.now()) {
            return Ok(left);
        }
        let removed = self.storage.maintain(self.retention).await?;
        tracing::debug!(?removed, "the upkeep of the storage is done");
        Ok(INTERVAL)
    }
}

/// The time until the next run; `None` if it is due. A last run in the future was recorded by a wrong clock.
fn left(last: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    let ago = Duration::try_from(now.duration_since(last?)).ok()?;
    INTERVAL.checked_sub(ago).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use aethon_core::file_changes::NoFileHistory;
    use aethon_core::shutdown::ShutdownTrigger;
    use aethon_core::storage::Storage;
    use aethon_core::testkit::{ManualClock, MemoryStore};
    use jiff::SignedDuration;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn upkeep_is_due_every_six_hours_and_after_a_wrong_clock() {
        let check = |last: Option<i64>, expected: Option<u64>| {
            assert_eq!(left(last.map(at), at(0)), expected.map(Duration::from_secs), "{last:?}");
        };
        check(None, None);
        check(Some(0), Some(21_600));
        check(Some(-21_599), Some(1));
        check(Some(-21_600), None);
        check(Some(-900_000), None);
        check(Some(1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn upkeep_runs_soon_after_a_start_only_when_due() {
        let clock = Arc::new(ManualClock::at(at(0)));
        let storage: Storage = MemoryStore::storage(clock.clone());
        let retention = Retention::of_oneshots(1);
        // Runs the program for ten seconds, and returns when the storage says the upkeep last ran.
        let runs = async || {
            let (trigger, shutdown) = ShutdownTrigger::pair();
            let (rows, clock) = (storage.upkeep.clone(), clock.clone());
            let uploads = UploadFolder::new("/nonexistent".into(), clock.clone());
            let changes =
                ChangesUpkeep { transcripts: storage.transcripts.clone(), files: Arc::new(NoFileHistory) };
            let upkeep =
                UpkeepTask { storage: rows, clock, retention, quota: Quota::default(), uploads, changes };
            let task = tokio::spawn(upkeep.run(shutdown));
            sleep(Duration::from_secs(10)).await;
            trigger.trigger();
            task.await.unwrap();
            storage.upkeep.marks().await.unwrap().maintained_at
        };
        assert_eq!(runs().await, Some(at(0)));
        clock.advance(SignedDuration::from_hours(5));
        assert_eq!(runs().await, Some(at(0)), "not again so soon");
        clock.advance(SignedDuration::from_hours(1));
        assert_eq!(runs().await, Some(at(6 * 3600)));
    }
}
