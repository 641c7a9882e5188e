//! The store: opens and closes the database, and gives all other modules their read and write access.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::storage::{StorageHealth, Synchronous};

use crate::db::{self, Durability, Pool, Sql, VERSION};
use crate::error::Error;
use crate::growth::Growth;
use crate::marks;
use crate::memory::Sketches;
use crate::owner::{About, LeaseClock, Owner, SuspiciousLeases};
use crate::peers::Link;
use crate::time::{day_number, to_millis};

/// How often a server that fails is tried.
const PROBE: Duration = Duration::from_secs(1);

/// Who opens a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// The daemon of an instance. Calls that were running when an earlier daemon of it crashed are booked at an estimate.
    Daemon,
    /// A program that may run beside the daemons and leaves their state alone.
    #[default]
    Guest,
}

/// Settings of a store. Start from the default and change what differs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who opens it.
    pub mode: OpenMode,
    /// Which home of which machine it serves: a daemon that comes back under this name takes up what the one before left.
    pub instance: String,
    /// The version of the program.
    pub version: String,
    /// By which clock leases are over.
    pub lease_clock: LeaseClock,
    /// Which failures an acknowledged write survives, beyond what the server is set up for.
    pub synchronous: Synchronous,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The agent that answers new sessions.
    pub agent_name: String,
    /// How long a program counts as alive after its last sign of life.
    pub lease: Duration,
    /// Maximum size of all one-shot sessions together.
    pub max_oneshot_bytes: Option<u64>,
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
            instance: String::new(),
            version: String::new(),
            lease_clock: LeaseClock::Own,
            synchronous: Synchronous::Normal,
            clock: Arc::new(SystemClock),
            agent_name: "aethon".to_owned(),
            lease: aethon_core::owner::LEASE,
            max_oneshot_bytes: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// The storage of one assistant. Clones share it.
#[derive(Clone)]
pub struct Store(pub(crate) Arc<StoreInner>);

/// The parts of a store.
pub(crate) struct StoreInner {
    pub(crate) pool: Pool,
    pub(crate) words: String,
    pub(crate) durability: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) agent_name: String,
    pub(crate) opener: Opener,
    pub(crate) suspicious_leases: Mutex<SuspiciousLeases>,
    pub(crate) health: StorageHealth,
    pub(crate) is_probing: AtomicBool,
    /// The latest mark that this process has set, in milliseconds.
    pub(crate) latest: AtomicI64,
    /// The day of the last refused reservation and its ceiling in USD.
    pub(crate) refused: Mutex<Option<(i64, f64)>>,
    /// Sketches of the memory vectors.
    pub(crate) sketches: Sketches,
    /// How much the one-shot sessions have grown, if that is limited.
    pub(crate) oneshots: Option<Growth>,
    /// The way to the other daemons, for a daemon.
    pub(crate) link: Option<Arc<Link>>,
}

/// Who has opened the store.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) mode: OpenMode,
    pub(crate) about: About,
    pub(crate) owner: Owner,
}

impl Store {
    /// Names the database for a person, without any secret.
    pub fn words(&self) -> &str {
        &self.0.words
    }

    /// The format of the database.
    pub fn format(&self) -> i64 {
        VERSION
    }

    /// Closes all connections. All clones refuse further work. Acknowledged writes are safe without this.
    pub async fn close(&self) {
        if self.0.opener.mode == OpenMode::Daemon
            && let Err(error) = aethon_core::owner::Owners::release(self).await
        {
            tracing::debug!(%error, "the storage was closed without a sign");
        }
        self.0.pool.close();
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let written = db::write(&self.0.pool, self.0.durability, work).await;
        self.note(written.as_ref().err());
        written
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let read = db::read(&self.0.pool, work).await;
        if let Err(error) = &read
            && error.is_unavailable()
        {
            self.note(Some(error));
        }
        read
    }

    /// Writes on behalf of a turn at `now`, and raises the latest mark if necessary.
    pub(crate) async fn write_at<T: Send + 'static>(
        &self,
        now: i64,
        mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mark = marks::due(self.0.latest.load(Ordering::Relaxed), now);
        let done = self
            .write(move |sql| {
                mark.map_or(Ok(()), |mark| marks::raise_latest(sql, mark))?;
                work(sql)
            })
            .await?;
        if let Some(mark) = mark {
            self.0.latest.fetch_max(mark, Ordering::Relaxed);
        }
        Ok(done)
    }

    /// Publishes whether the storage works. While it does not, there are no writes, so it is probed until it does.
    fn note(&self, error: Option<&Error>) {
        let health = &self.0.health;
        match error {
            Some(error) if error.is_damaged() => drop(health.damaged(error.to_string())),
            Some(error) if error.is_unavailable() => {
                if health.failed(error.to_string()) {
                    tracing::error!(%error, "the storage fails");
                }
                self.probe();
            }
            _ => {
                if health.recovered() {
                    tracing::info!("the storage works again");
                }
            }
        }
    }

    fn probe(&self) {
        if self.0.is_probing.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PROBE).await;
                let Some(inner) = store.upgrade() else { return };
                let fails = db::write(&inner.pool, inner.durability, marks::probe).await.is_err();
                if !fails || inner.pool.is_closed() {
                    inner.is_probing.store(false, Ordering::Release);
                    if !fails && inner.health.recovered() {
                        tracing::info!("the storage works again");
                    }
                    return;
                }
            }
        });
    }

    /// Returns the health of the storage.
    pub fn health(&self) -> StorageHealth {
        self.0.health.clone()
    }

    /// Returns the current time in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        to_millis(self.0.clock.now())
    }

    /// Returns the current day, in days since 1970, UTC.
    pub(crate) fn day(&self) -> i64 {
        day_number(self.now())
    }

    pub(crate) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }

    pub(crate) fn suspicious_leases(&self) -> MutexGuard<'_, SuspiciousLeases> {
        self.0.suspicious_leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last refused reservation: its day and its ceiling in USD.
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
        self.0.opener.owner
    }

    pub(crate) fn opener(&self) -> &Opener {
        &self.0.opener
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
