//! The store: opens and closes the database, and gives all other modules their read and write access.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::storage::{StorageHealth, Synchronous};
use aethon_core::turn::Trust;

use crate::db::{self, CommitTiming, OnStorageFailure, Readers, Sql, Writer};
use crate::error::Error;
use crate::growth::Growth;
use crate::marks;
use crate::memory::Sketches;
use crate::owner::{Owner, SuspiciousLeases};
use crate::time::{day_number, to_millis};

/// Who opens a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// The one daemon of the home. Calls that were running when an earlier daemon crashed are booked at an estimate.
    Daemon,
    /// A program that may run beside the daemon and leaves the daemon's state alone.
    #[default]
    Guest,
}

/// What happens to a database of an older format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Upgrade {
    /// It is refused and left as it is.
    #[default]
    Refuse,
    /// It is copied and brought to the current format, provided that no other program has it open.
    Allow,
}

/// Which limits are the program's defaults, and not the owner's wish. After an upgrade they wait until the owner was warned for
/// long enough; see [`aethon_core::storage::StorageMarks::defaults_wait`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DefaultLimits {
    /// [`Options::max_bytes`].
    pub file: bool,
    /// [`Options::max_oneshot_bytes`].
    pub oneshots: bool,
}

/// Settings of a store. Start from the default and change what differs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who opens it.
    pub mode: OpenMode,
    /// Which failures an acknowledged write survives.
    pub synchronous: Synchronous,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The agent that answers new sessions.
    pub agent_name: String,
    /// How long a program counts as alive after its last sign of life.
    pub lease: Duration,
    /// How long a write waits for another program that writes to the same file.
    pub busy_timeout: Duration,
    /// Maximum size of the file in bytes. Turns of strangers fill three quarters of it. Beyond it, the oldest one-shot
    /// sessions are removed; if there are none, writes fail.
    pub max_bytes: Option<u64>,
    /// Maximum size of all one-shot sessions together.
    pub max_oneshot_bytes: Option<u64>,
    /// What holds in place of [`Self::max_oneshot_bytes`] while that waits as a default: the owner's part of it, if any.
    pub owner_oneshot_bytes: Option<u64>,
    /// Which of these two limits are defaults.
    pub defaults: DefaultLimits,
    /// What happens to a database of an older format.
    pub upgrade: Upgrade,
}

impl Options {
    /// Applies a change and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: OpenMode::Guest,
            synchronous: Synchronous::Normal,
            clock: Arc::new(SystemClock),
            agent_name: "aethon".to_owned(),
            lease: aethon_core::owner::LEASE,
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
            max_oneshot_bytes: None,
            owner_oneshot_bytes: None,
            defaults: DefaultLimits::default(),
            upgrade: Upgrade::Refuse,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("synchronous", &self.synchronous).finish_non_exhaustive()
    }
}

/// The storage of one home. Clones share it.
#[derive(Clone)]
pub struct Store(pub(crate) Arc<StoreInner>);

/// The parts of a store.
pub(crate) struct StoreInner {
    // Dropped before the writer, whose connection must close last: closing the last connection tidies up the file.
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) agent_name: String,
    pub(crate) mode: OpenMode,
    pub(crate) owner: Owner,
    pub(crate) suspicious_leases: Mutex<SuspiciousLeases>,
    pub(crate) health: StorageHealth,
    /// The latest mark that this process has set, in milliseconds.
    pub(crate) latest: AtomicI64,
    /// The day of the last refused reservation and its ceiling in USD.
    pub(crate) refused: Mutex<Option<(i64, f64)>>,
    /// Why the file could not be opened for writing.
    pub(crate) obstacle: Option<Error>,
    /// Sketches of the memory vectors.
    pub(crate) sketches: Sketches,
    /// How much of the file turns of strangers may fill, in bytes.
    pub(crate) of_strangers: Option<u64>,
    /// How much the one-shot sessions have grown, if that is limited.
    pub(crate) oneshots: Option<Growth>,
}

impl Store {
    /// Stores the queued writes, checkpoints and closes the file. All clones refuse further work. Acknowledged writes are
    /// safe without this; it only leaves a tidier file.
    pub async fn close(&self) {
        let store = self.0.clone();
        let closed = tokio::task::spawn_blocking(move || {
            store.readers.close();
            store.writer.close();
        });
        if closed.await.is_err() {
            tracing::warn!("the storage was not closed in order; nothing is lost");
        }
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.writer.run(CommitTiming::Immediate, work).await
    }

    /// Queues a write for the next commit; waits only for a slot in the queue.
    pub(crate) async fn write_later(
        &self,
        on_failure: OnStorageFailure,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.0.writer.run_later(on_failure, work).await
    }

    /// Commits the writes queued for later, so that a read sees them.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        if self.0.writer.has_pending() { self.write(|_| Ok(())).await } else { Ok(()) }
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let read = self.0.readers.run(work).await;
        if let Err(error) = &read {
            db::note_damage(&self.0.health, error);
        }
        read
    }

    /// Writes on behalf of a turn at `now`, and raises the latest mark if necessary.
    pub(crate) async fn write_at<T: Send + 'static>(
        &self,
        now: i64,
        timing: CommitTiming,
        mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mark = marks::due(self.0.latest.load(Ordering::Relaxed), now);
        let done = self
            .0
            .writer
            .run(timing, move |sql| {
                mark.map_or(Ok(()), |mark| marks::raise_latest(sql, mark))?;
                work(sql)
            })
            .await?;
        if let Some(mark) = mark {
            self.0.latest.fetch_max(mark, Ordering::Relaxed);
        }
        Ok(done)
    }

    /// Returns the health of the storage.
    pub fn health(&self) -> StorageHealth {
        self.0.health.clone()
    }

    /// Returns why the file could not be opened for writing, if it was opened for reading instead.
    pub fn obstacle(&self) -> Option<&Error> {
        self.0.obstacle.as_ref()
    }

    /// Returns the current time in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        to_millis(self.0.clock.now())
    }

    /// Returns the current day, in days since 1970, UTC.
    pub(crate) fn day(&self) -> i64 {
        day_at(&*self.0.clock)
    }

    pub(crate) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }

    /// Returns the last refused reservation: its day and its ceiling in USD.
    pub(crate) fn suspicious_leases(&self) -> MutexGuard<'_, SuspiciousLeases> {
        self.0.suspicious_leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn refused(&self) -> MutexGuard<'_, Option<(i64, f64)>> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a claim under this ceiling was refused, or that one was granted again.
    pub(crate) fn note_refusal(&self, day: i64, ceiling_usd: f64, is_refused: bool) {
        let mut refused = self.refused();
        if is_refused {
            *refused = Some((day, ceiling_usd));
        } else if refused.is_some_and(|(_, under)| ceiling_usd >= under) {
            *refused = None;
        }
    }

    pub(crate) fn sketches(&self) -> Sketches {
        self.0.sketches.clone()
    }

    /// Returns how many bytes of the file turns of this trust may fill, if that is less than all.
    pub(crate) fn mark_for(&self, trust: Trust) -> Option<u64> {
        self.0.of_strangers.filter(|_| !trust.is_owner())
    }

    /// Returns the growth of one-shot sessions, if that is limited.
    pub(crate) fn oneshots(&self) -> Option<&Growth> {
        self.0.oneshots.as_ref()
    }

    /// Notes that a turn writes this much.
    pub(crate) fn note_growth(&self, bytes: usize) {
        if let Some(growth) = self.oneshots() {
            growth.add(bytes);
        }
    }

    pub(crate) fn owner(&self) -> Owner {
        self.0.owner
    }

    pub(crate) fn mode(&self) -> OpenMode {
        self.0.mode
    }
}

/// Returns the day of a clock, in days since 1970, UTC.
pub(crate) fn day_at(clock: &dyn Clock) -> i64 {
    day_number(to_millis(clock.now()))
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
