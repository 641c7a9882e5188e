//! The store: opening, closing, and the two ways to the file that everything else here takes.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::storage::{StorageHealth, Synchronous};

use crate::db::{self, Background, IdleTask, Readers, Settings, Sql, Urgency, Writer};
use crate::error::Error;
use crate::memory::Sketches;
use crate::owners::{self, Owner};
use crate::time::{day_number, to_millis};
use crate::{ledger, marks, purge, search};

/// What happens in idle moments.
const IDLE_TASKS: &[IdleTask] = &[purge::purge_some, search::index_some, search::erase_some];

/// Who opens a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenMode {
    /// The one daemon of the home. The calls that were under way when an earlier daemon crashed are booked at an estimate.
    Daemon,
    /// A program that may run beside the daemon, and touches nothing of its.
    #[default]
    Guest,
}

/// How a store behaves. Begin with the default and set what differs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who opens it.
    pub mode: OpenMode,
    /// What an acknowledged write survives.
    pub synchronous: Synchronous,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The agent that new sessions are answered by.
    pub agent_name: String,
    /// How long a program counts as alive after it last said so.
    pub lease: Duration,
    /// How long a write waits for another program that writes to the same file.
    pub busy_timeout: Duration,
    /// How large the file may become, in bytes; beyond that writing fails as on a full disk.
    pub max_bytes: Option<u64>,
}

impl Options {
    /// With what this changes.
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
pub struct Store(Arc<Inner>);

struct Inner {
    // Before the writer: the writer's connection is to be the last one that closes, because that tidies the file up.
    readers: Readers,
    writer: Writer,
    clock: Arc<dyn Clock>,
    agent_name: String,
    mode: OpenMode,
    owner: Owner,
    health: StorageHealth,
    /// The mark of the latest time that this process has set, in milliseconds.
    latest: AtomicI64,
    /// The day on which money was refused last, and the ceiling in USD.
    refused: Mutex<Option<(i64, f64)>>,
    /// The vectors of memories in few bits.
    sketches: Sketches,
}

impl Store {
    /// Opens the database, creating or migrating it if need be. Blocks for some milliseconds.
    ///
    /// A file that a newer version wrote, or that is something else, is refused and left as it is; see
    /// [`Error::is_newer_version`] and [`Error::is_foreign_file`].
    pub fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let settings = Settings {
            path: path.to_owned(),
            synchronous: options.synchronous,
            busy_timeout: options.busy_timeout,
            max_bytes: options.max_bytes,
            health: StorageHealth::default(),
        };
        let (connection, place) = db::open(&settings)?;
        let is_daemon = options.mode == OpenMode::Daemon;
        if is_daemon {
            let sql = Sql::new(&connection);
            prove_writable(&sql, path, &settings.health)?;
            // Where nothing can be written, leases end and reservations are booked by themselves, only later.
            if settings.health.fault().is_none() {
                write_off(&sql, day_at(&*options.clock))?;
                owners::forget_daemons(&sql)?;
            }
        }
        let background = Background { idle_tasks: IDLE_TASKS, probe: marks::probe };
        let writer = Writer::start((connection, place.clone()), settings.clone(), background)?;
        let health = settings.health.clone();
        let readers = Readers::new(settings, place);
        let owner = Owner::fresh(is_daemon, options.lease);
        let Options { clock, agent_name, mode, .. } = options;
        let (refused, latest) = (Mutex::default(), AtomicI64::new(i64::MIN));
        let sketches = Sketches::default();
        let inner =
            Inner { readers, writer, clock, agent_name, mode, owner, refused, health, latest, sketches };
        Ok(Self(Arc::new(inner)))
    }

    /// Stores what waits, brings the log into the main file and closes it. Whatever is asked of any clone afterwards is
    /// refused. What was acknowledged is safe without this; it only leaves a tidier file.
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
        self.0.writer.run(work).await
    }

    /// Queues a write for the next commit, and waits for a place in the queue only.
    pub(crate) async fn write_later(
        &self,
        urgency: Urgency,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.0.writer.run_later(urgency, work).await
    }

    /// Commits what was queued for later, so that a read sees it.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        if self.0.writer.has_later() { self.write(|_| Ok(())).await } else { Ok(()) }
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.readers.run(work).await
    }

    /// The same for a turn, now: the time is remembered, if it is later than what is.
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

    /// Whether it takes what it is given.
    pub fn health(&self) -> StorageHealth {
        self.0.health.clone()
    }

    /// Now, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        to_millis(self.0.clock.now())
    }

    /// Today, in days since 1970, UTC.
    pub(crate) fn day(&self) -> i64 {
        day_at(&*self.0.clock)
    }

    pub(crate) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }

    /// The last refusal of money: its day, and the ceiling in USD.
    pub(crate) fn refused(&self) -> MutexGuard<'_, Option<(i64, f64)>> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a claim under this ceiling got nothing, or that one of them got something again.
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

    pub(crate) fn owner(&self) -> Owner {
        self.0.owner
    }

    pub(crate) fn mode(&self) -> OpenMode {
        self.0.mode
    }
}

/// A file that may not be written is a reason not to start. A disk that is full is none: what is stored can be read, and
/// the rest is refused until there is space.
fn prove_writable(sql: &Sql<'_>, path: &Path, health: &StorageHealth) -> Result<(), Error> {
    match db::in_transaction(sql, marks::probe) {
        Err(error) if error.is_unwritable() => Err(error.at_opening(path)),
        Err(error) if error.is_unavailable() => {
            health.failed(error.to_string());
            Ok(())
        }
        other => other.map(drop),
    }
}

/// Books the calls that an earlier daemon had under way. Writes nothing, and so waits for nobody, when there is nothing.
fn write_off(sql: &Sql<'_>, today: i64) -> Result<(), Error> {
    if !ledger::is_anything_set_aside(sql)? {
        return Ok(());
    }
    let calls = db::in_transaction(sql, |sql| ledger::write_off(sql, today - 1, OpenMode::Daemon))?;
    if calls > 0 {
        tracing::warn!(
            calls,
            "model calls were cut off; they count at the last estimate of what they had cost"
        );
    }
    Ok(())
}

fn day_at(clock: &dyn Clock) -> i64 {
    day_number(to_millis(clock.now()))
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
