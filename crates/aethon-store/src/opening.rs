//! Opens a store: the database, the threads that read and write it, and whatever an earlier daemon left behind.

use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use aethon_core::clock::Clock;
use aethon_core::share::Share;
use aethon_core::storage::StorageHealth;

use crate::db::{self, BackgroundTasks, IdleTask, Opened, Readers, Settings, Sql, Writer};
use crate::error::Error;
use crate::growth::Growth;
use crate::memory::Sketches;
use crate::owner::Owner;
use crate::store::{OpenMode, Options, Store, StoreInner, Upgrade, day_at};
use crate::time::to_millis;
use crate::{clock_jumps, ledger, marks, oneshots, owners, purge, search};

/// Tasks for idle moments.
const IDLE_TASKS: &[IdleTask] = &[purge::purge_some, search::index_some, search::erase_some];

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
        let tasks = BackgroundTasks { idle_tasks: IDLE_TASKS, probe: marks::probe, relief: oneshots::free };
        let writer = Writer::start(opened, settings.clone(), tasks)?;
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
        Ok(Self(Arc::new(StoreInner {
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

/// Prepares the start of a daemon: checks the file, and ends the open work of the daemon before it. Stored data can
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

/// Ends the open work of an earlier daemon.
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

/// Reports a fault of the file.
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
/// stored data can be read, and everything else is refused until there is space.
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

/// Books the calls that an earlier daemon left open. Writes nothing, and so waits for no lock, if there are none.
fn write_off(sql: &Sql<'_>, today: i64) -> Result<(), Error> {
    if !ledger::has_open_reservations(sql)? {
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
