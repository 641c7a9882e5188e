//! The store: opens and closes the database, and gives all other modules their read and write access.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::share::Share;
use aethon_core::storage::{StorageHealth, Synchronous};
use aethon_core::turn::Trust;

use crate::db::{self, Haste, IdleTask, Opened, OwnTasks, Readers, Settings, Sql, Urgency, Writer};
use crate::error::Error;
use crate::memory::Sketches;
use crate::oneshots::{self, Growth};
use crate::owners::{self, Owner, SuspiciousLeases};
use crate::time::{day_number, to_millis};
use crate::{clock_jumps, ledger, marks, purge, search};

/// Tasks for idle moments.
const IDLE_TASKS: &[IdleTask] = &[purge::purge_some, search::index_some, search::erase_some];

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
    /// What an acknowledged write survives.
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
pub struct Store(Arc<Inner>);

struct Inner {
    // Dropped before the writer, whose connection must close last: closing the last connection tidies up the file.
    readers: Readers,
    writer: Writer,
    clock: Arc<dyn Clock>,
    agent_name: String,
    mode: OpenMode,
    owner: Owner,
    suspicious_leases: Mutex<SuspiciousLeases>,
    health: StorageHealth,
    /// The latest mark that this process has set, in milliseconds.
    latest: AtomicI64,
    /// The day of the last refused reservation and its ceiling in USD.
    refused: Mutex<Option<(i64, f64)>>,
    /// Why the file could not be opened for writing.
    obstacle: Option<Error>,
    /// Sketches of the memory vectors.
    sketches: Sketches,
    /// How much of the file turns of strangers may fill, in bytes.
    of_strangers: Option<u64>,
    /// How much the one-shot sessions have grown, if that is limited.
    oneshots: Option<Growth>,
}

impl Store {
    /// Opens the database, creating it if necessary, and upgrading it if [`Options::upgrade`] says so. Blocks for some
    /// milliseconds; an upgrade takes as long as a copy.
    ///
    /// A file that a newer version wrote, or of another kind, is refused and left as it is; see
    /// [`Error::is_newer_version`] and [`Error::is_foreign_file`].
    pub fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let settings = Settings {
            path: path.to_owned(),
            synchronous: options.synchronous,
            busy_timeout: options.busy_timeout,
            max_bytes: options.max_bytes,
            is_limited: match options.defaults.file {
                // What cannot be read is noted below, and is no reason to refuse anything.
                true => |sql| Ok(marks::defaults_wait(sql).is_ok_and(|left| left.is_none())),
                false => |_| Ok(true),
            },
            upgrade: match options.upgrade {
                Upgrade::Refuse => db::Upgrade::Refuse,
                Upgrade::Allow => db::Upgrade::Allow(marks::begin_defaults_wait),
            },
            health: StorageHealth::default(),
            reading: Arc::default(),
        };
        let mut opened = db::open_or_read(&settings)?;
        let is_daemon = options.mode == OpenMode::Daemon;
        let waits = do_defaults_wait(&Sql::new(&opened.connection), &settings.health)?;
        if is_daemon {
            db::remove_partial_copies(path);
        }
        let obstacle = opened.obstacle.as_ref().map(Error::for_another);
        if let Some(obstacle) = &obstacle {
            report(&settings.health, obstacle);
        } else if is_daemon {
            look_after(&mut opened, &settings, &*options.clock)?;
        }
        let own_tasks = OwnTasks { idle_tasks: IDLE_TASKS, probe: marks::probe, relief: oneshots::free };
        let writer = Writer::start(opened, settings.clone(), own_tasks)?;
        let health = settings.health.clone();
        let readers = Readers::new(settings);
        let owner = Owner::fresh(is_daemon, options.lease);
        let max_bytes = options.max_bytes.filter(|_| !(waits && options.defaults.file));
        let of_strangers = max_bytes.map(|bytes| Share::of(bytes).of_strangers());
        let max_oneshot_bytes = match waits && options.defaults.oneshots {
            true => options.owner_oneshot_bytes,
            false => options.max_oneshot_bytes,
        };
        let oneshots = max_oneshot_bytes.map(Growth::new);
        let Options { clock, agent_name, mode, .. } = options;
        Ok(Self(Arc::new(Inner {
            readers,
            writer,
            clock,
            agent_name,
            mode,
            owner,
            suspicious_leases: Mutex::default(),
            health,
            latest: AtomicI64::new(i64::MIN),
            refused: Mutex::default(),
            obstacle,
            sketches: Sketches::default(),
            of_strangers,
            oneshots,
        })))
    }

    /// Stores what is queued, checkpoints and closes the file. All clones refuse further work. Acknowledged writes are
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
        self.0.writer.run(Haste::Awaited, work).await
    }

    /// Queues a write for the next commit; waits only for a slot in the queue.
    pub(crate) async fn write_later(
        &self,
        urgency: Urgency,
        work: impl FnMut(&Sql<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        self.0.writer.run_later(urgency, work).await
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
        haste: Haste,
        mut work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mark = marks::due(self.0.latest.load(Ordering::Relaxed), now);
        let done = self
            .0
            .writer
            .run(haste, move |sql| {
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

/// Returns whether default limits wait. If the file does not say because it is damaged, they do: then they remove nothing.
fn do_defaults_wait(sql: &Sql<'_>, health: &StorageHealth) -> Result<bool, Error> {
    match marks::defaults_wait(sql) {
        Err(error) if error.is_damaged() || error.is_unreadable() => {
            note(health, &error);
            Ok(true)
        }
        other => other.map(|left| left.is_some()),
    }
}

/// What a daemon does before anything else: checks the file, and ends what the daemon before it left. What is stored can
/// be read even if a part of the file is damaged or cannot be read, so that is no reason not to start.
fn look_after(opened: &mut Opened, settings: &Settings, clock: &dyn Clock) -> Result<(), Error> {
    let health = &settings.health;
    if let Err(error) = db::mend_indexes(&mut opened.connection) {
        note(health, &error);
        return Ok(());
    }
    match end_former(&Sql::new(&opened.connection), settings, clock) {
        Err(error) if error.is_damaged() || error.is_unreadable() => {
            note(health, &error);
            Ok(())
        }
        other => other,
    }
}

/// Ends what an earlier daemon left.
fn end_former(sql: &Sql<'_>, settings: &Settings, clock: &dyn Clock) -> Result<(), Error> {
    prove_writable(sql, &settings.path, &settings.health)?;
    // If nothing can be written now, leases expire and reservations get booked anyway, only later.
    if settings.health.fault().is_none() {
        write_off(sql, day_at(clock))?;
        owners::forget_daemons(sql)?;
        clock_jumps::undo_future_deliveries(sql, to_millis(clock.now()))?;
    }
    Ok(())
}

/// Makes known what is wrong with the file.
fn note(health: &StorageHealth, error: &Error) {
    match error.is_damaged() {
        true => db::note_damage(health, error),
        false => report(health, error),
    }
}

/// Reports that nothing can be stored.
fn report(health: &StorageHealth, fault: &Error) {
    if health.failed(fault.to_string()) {
        tracing::error!(
            error = fault as &dyn std::error::Error,
            "nothing can be stored; new messages are refused until it works again"
        );
    }
}

/// Checks that the database accepts writes. A file that is not writable is a reason not to start. A full disk is not:
/// what is stored can be read, and everything else is refused until there is space.
fn prove_writable(sql: &Sql<'_>, path: &Path, health: &StorageHealth) -> Result<(), Error> {
    match db::in_transaction(sql, |sql| db::mark(sql).and_then(|()| marks::probe(sql))) {
        Err(error) if error.is_unwritable() => Err(error.at_opening(path)),
        Err(error) if error.is_damaged() => Err(error),
        Err(error) if error.is_unavailable() => {
            report(health, &error);
            Ok(())
        }
        other => other.map(drop),
    }
}

/// Books the calls that an earlier daemon left open. Writes nothing, and so waits for nobody, if there are none.
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
