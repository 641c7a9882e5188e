//! Makes backups by `backup.schedule`, and those that a client asks for.
//!
//! When one is due follows from the newest good one in the folder, so nothing else has to be remembered: one that was missed
//! while the program was off is made soon after the next start, and so is the first. The configuration is read again each time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_archive::seal::{Lock, Recipient};
use aethon_config::Config;
use aethon_config::schema::Backup as Options;
use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::backup::{Backup, BackupList, Backups};
use aethon_core::clock::Clock;
use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::feature::{Feature, FeatureState, Features};
use aethon_core::live::Live;
use aethon_core::schedule::Cron;
use aethon_core::shutdown::Shutdown;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::create::{DatabaseUse, Request, create};
use super::shelf;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::home::Home;
use crate::prepared::Prepared;

/// How long a backup that is due stays out of the way of a start.
const AFTER_START: Duration = Duration::from_secs(5);

/// The longest wait before the clock and the configuration are looked at again.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The wait after a failure.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(15);

/// How often the log says that a backup is overdue.
const WARN_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// The actor in the audit rows of scheduled backups.
const SCHEDULE: &str = "the schedule";

/// Makes backups while the daemon runs. Clones share it.
#[derive(Clone)]
pub(crate) struct BackupTask(Arc<Inner>);

struct Inner {
    home: Home,
    /// The configuration file in use.
    file: PathBuf,
    config: Live<Config>,
    clock: Arc<dyn Clock>,
    audit: Arc<dyn AuditLog>,
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// Who asked for one that has not begun.
    wanted_by: Option<String>,
    /// When the last attempt failed, and why.
    failure: Option<(Timestamp, String)>,
    /// When the newest good one was begun, as far as known.
    last_good: Option<Timestamp>,
    /// When the log last said that it is overdue.
    warned: Option<Timestamp>,
}

impl BackupTask {
    /// Creates the task for a home whose database this process has open.
    pub(crate) fn new(
        (home, file): (Home, PathBuf),
        config: Live<Config>,
        clock: Arc<dyn Clock>,
        audit: Arc<dyn AuditLog>,
    ) -> Self {
        let (state, wake) = (Mutex::default(), Notify::new());
        Self(Arc::new(Inner { home, file, config, clock, audit, state, wake }))
    }

    /// Puts the row of backups on the board.
    pub(crate) fn offer(&self, board: &Features) {
        let inner = self.0.clone();
        board.offer(move || vec![inner.feature()]);
    }

    /// Makes backups until shutdown. One that is being made then is given up.
    pub(crate) async fn run(self, mut shutdown: Shutdown) {
        let mut wait = AFTER_START;
        loop {
            tokio::select! {
                () = shutdown.requested() => return,
                () = self.0.wake.notified() => {}
                () = sleep(wait) => {}
            }
            wait = self.0.look(&mut shutdown).await;
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a backup if one is due or wanted. Returns how long to wait until the next look.
    async fn look(self: &Arc<Self>, shutdown: &mut Shutdown) -> Duration {
        let options = self.config.get().backup.clone();
        let folder = shelf::folder(&options, &self.home);
        let last = listed(folder).await.ok().and_then(|backups| newest_good(&backups));
        let now = self.clock.now();
        let by = {
            let mut state = self.state();
            state.last_good = last;
            let has_failed =
                state.failure.as_ref().is_some_and(|(at, _)| now.duration_since(*at).abs() < RETRY_AFTER);
            let is_due = !has_failed && Plan::of(&options).is_some_and(|plan| plan.next(last, now) <= now);
            let by = state.wanted_by.take().or_else(|| is_due.then(|| SCHEDULE.to_owned()));
            state.is_running = by.is_some();
            by
        };
        if let Some(by) = by {
            self.make(options.clone(), by, shutdown).await;
        }
        self.warn_if_late(&options);
        let next = Plan::of(&options).map(|plan| plan.next(self.state().last_good, self.clock.now()));
        let left = next.and_then(|next| Duration::try_from(next.duration_since(self.clock.now())).ok());
        left.unwrap_or(MAX_WAIT).clamp(Duration::from_secs(1), MAX_WAIT)
    }

    /// Says in the log, once a day, that the newest good backup is too old.
    fn warn_if_late(&self, options: &Options) {
        let (now, mut state) = (self.clock.now(), self.state());
        let is_late = Plan::of(options).is_some_and(|plan| plan.is_late(state.last_good, now));
        let is_said = state.warned.is_some_and(|at| now.duration_since(at).abs() < WARN_EVERY);
        if is_late && !is_said {
            let last = state.last_good.map_or_else(|| "none".to_owned(), |last| format!("{last:.0}"));
            let failure = state.failure.as_ref().map_or("", |(_, why)| why);
            tracing::warn!(
                last_good = last,
                failure,
                "the newest good backup is older than twice its period"
            );
            state.warned = Some(now);
        }
    }

    async fn make(self: &Arc<Self>, options: Options, by: String, shutdown: &mut Shutdown) {
        let (stop, inner, now) = (Arc::new(AtomicBool::new(false)), self.clone(), self.clock.now());
        let asked = stop.clone();
        let mut making = spawn_blocking(move || inner.backup(&options, now, &asked));
        let made = tokio::select! {
            made = &mut making => made,
            () = shutdown.requested() => {
                stop.store(true, Ordering::Relaxed);
                making.await
            }
        };
        let made = made.unwrap_or_else(|_| Err(Error::failed("making the backup panicked")));
        let (subject, outcome) = match &made {
            Ok(file) => (file.clone(), "made"),
            Err(error) => (error.to_string(), "failed"),
        };
        match outcome {
            "made" => tracing::info!(backup = subject, by, "a backup was made and checked"),
            _ => tracing::warn!(error = subject, by, "a backup failed; it is tried again"),
        }
        {
            let mut state = self.state();
            state.is_running = false;
            match made {
                Ok(_) => (state.failure, state.last_good) = (None, Some(now)),
                Err(error) => state.failure = Some((now, error.to_string())),
            }
        }
        let entry = AuditEntry::new(self.clock.now(), AuditAction::Backup, subject, outcome).by(by);
        if let Err(error) = self.audit.record(entry).await {
            tracing::warn!(%error, "a row of the audit is in the log only");
        }
    }

    /// Makes one, and removes those that are too many. Returns its file. Blocks.
    fn backup(&self, options: &Options, now: Timestamp, stop: &AtomicBool) -> Result<String> {
        let folder = shelf::folder(options, &self.home);
        super::place::create_folder(&folder)?;
        let lock = lock(options)?;
        let target = shelf::new_file(&folder, now, lock.is_some());
        let request = Request {
            target,
            config: self.file.clone(),
            with_secrets: options.with_secrets,
            lock,
            database: match &self.config.get().storage {
                storage if storage.is_on_server() => DatabaseUse::OnServer(storage.url.clone()),
                _ => DatabaseUse::Open,
            },
        };
        let created = create(&self.home, &request, now, &mut |_| !stop.load(Ordering::Relaxed))?;
        for skipped in &created.skipped {
            tracing::info!(name = skipped.name, reason = skipped.reason, "left out of the backup");
        }
        // The new one is good, whatever becomes of the old ones.
        if let Err(error) = shelf::prune(&folder, options.keep) {
            tracing::warn!(%error, "old backups could not be removed");
        }
        Ok(created.file.display().to_string())
    }

    fn feature(&self) -> Feature {
        let options = self.config.get().backup.clone();
        let row = Feature::on("backup", "Backups", "", "backup.schedule");
        let state = self.state();
        let last = state
            .last_good
            .map_or_else(|| "there is none yet".to_owned(), |last| format!("the last one is of {last:.0}"));
        let Some(plan) = Plan::of(&options) else {
            return row.but(FeatureState::Off, format!("made only on request; {last}"));
        };
        match &state.failure {
            Some((_, why)) => {
                row.but(FeatureState::Degraded, format!("the last attempt failed: {why}; {last}"))
            }
            None if plan.is_late(state.last_good, self.clock.now()) => {
                row.but(FeatureState::Degraded, format!("overdue; {last}"))
            }
            None => row.but(FeatureState::On, format!("made at {}; {last}", options.schedule.trim())),
        }
    }
}

#[async_trait]
impl Backups for BackupTask {
    async fn list(&self) -> CoreResult<BackupList> {
        let options = self.0.config.get().backup.clone();
        let folder = shelf::folder(&options, &self.0.home);
        let backups = listed(folder.clone())
            .await
            .map_err(|error| CoreError::unavailable(error.to_string()).because(error))?;
        let last_good = backups.iter().find(|backup| backup.ok).cloned();
        let last = last_good.as_ref().map(|backup| backup.created_at);
        let state = self.0.state();
        Ok(BackupList {
            running: state.is_running || state.wanted_by.is_some(),
            last_good,
            backups,
            folder: folder.display().to_string(),
            schedule: options.schedule.trim().to_owned(),
            next_at: Plan::of(&options).map(|plan| plan.next(last, self.0.clock.now())),
            last_error: state.failure.as_ref().map(|(_, why)| why.clone()),
        })
    }

    fn start(&self, by: &str) -> bool {
        {
            let mut state = self.0.state();
            if state.is_running || state.wanted_by.is_some() {
                return false;
            }
            state.wanted_by = Some(by.to_owned());
        }
        self.0.wake.notify_one();
        true
    }
}

async fn listed(folder: PathBuf) -> Result<Vec<Backup>> {
    spawn_blocking(move || shelf::list(&folder))
        .await
        .map_err(|_| Error::failed("the folder of backups cannot be read"))?
}

fn newest_good(backups: &[Backup]) -> Option<Timestamp> {
    backups.iter().find(|backup| backup.ok).map(|backup| backup.created_at)
}

/// What scheduled backups are encrypted with.
fn lock(options: &Options) -> Result<Option<Lock>> {
    let recipient = options.recipient.trim();
    if recipient.is_empty() {
        return Ok(None);
    }
    let recipient =
        Recipient::parse(recipient).map_err(|error| Error::refused(format!("backup.recipient: {error}")))?;
    Ok(Some(Lock::Recipient(recipient)))
}

/// A schedule in the time zone of the machine.
struct Plan {
    cron: Cron,
    zone: TimeZone,
}

impl Plan {
    fn of(options: &Options) -> Option<Self> {
        let cron = Cron::parse(&options.schedule).ok()?;
        Some(Self { cron, zone: TimeZone::system() })
    }

    /// When the next one is due; the first one is due at once. One that was begun later than now was stamped by a wrong clock.
    fn next(&self, last: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let Some(last) = last else { return now };
        self.cron.next_after(last.min(now), &self.zone).unwrap_or(Timestamp::MAX)
    }

    /// Whether the newest good one is older than twice the time between two of them.
    fn is_late(&self, last: Option<Timestamp>, now: Timestamp) -> bool {
        let Some(last) = last else { return false };
        let due = self.next(Some(last), now);
        let period = self.cron.next_after(due, &self.zone).map(|then| then.duration_since(due));
        period.is_some_and(|period| now.duration_since(last) > period + period)
    }
}

/// What `doctor` says of the backups.
pub(crate) fn finding(prepared: &Prepared) -> Finding {
    let options = &prepared.config.backup;
    let folder = shelf::folder(options, &prepared.home);
    let backups = match shelf::list(&folder) {
        Ok(backups) => backups,
        Err(error) => {
            return Finding::warning(
                "backup",
                error.to_string(),
                "set backup.dir to a folder that can be used",
            );
        }
    };
    let last = newest_good(&backups);
    let said = match last {
        Some(last) => format!("the last good backup in {} is of {last:.0}", folder.display()),
        None => format!("there is no backup in {}", folder.display()),
    };
    let Some(plan) = Plan::of(options) else {
        let how = "`aethon-cli backup` makes one, and backup.schedule makes them by themselves";
        return Finding::ok("backup", format!("{said}; {how}"));
    };
    if plan.is_late(last, prepared.clock().now()) {
        let fix = "look at the log for why it failed, and make one with `aethon-cli backup`";
        return Finding::warning(
            "backup",
            format!("{said}, which is more than two periods of backup.schedule ago"),
            fix,
        );
    }
    match backups.iter().find(|backup| !backup.ok) {
        Some(broken) => {
            let message = format!("{said}; {} is broken", broken.name);
            Finding::warning("backup", message, "remove it, and check the disk")
        }
        None => Finding::ok("backup", said),
    }
}

/// Checks `backup.recipient`, for the start.
pub(crate) fn problem(config: &Config) -> Option<String> {
    lock(&config.backup).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn nightly() -> Plan {
        Plan { cron: Cron::parse("0 3 * * *").unwrap(), zone: TimeZone::UTC }
    }

    #[test]
    fn the_first_backup_and_a_missed_one_are_due_at_once() {
        let now = at("2026-11-27T12:00:00Z");
        let check = |last: Option<&str>, expected: &str| {
            assert_eq!(nightly().next(last.map(at), now), at(expected), "{last:?}");
        };
        check(None, "2026-11-27T12:00:00Z");
        check(Some("2026-11-27T03:00:05Z"), "2026-11-28T03:00:00Z");
        check(Some("2026-11-26T03:00:05Z"), "2026-11-27T03:00:00Z");
        // Of a clock that was wrong.
        check(Some("2027-11-26T03:00:05Z"), "2026-11-28T03:00:00Z");
    }

    #[test]
    fn a_backup_is_late_after_two_periods() {
        let check = |last: &str, expected: bool| {
            assert_eq!(nightly().is_late(Some(at(last)), at("2026-11-27T12:00:00Z")), expected, "{last}");
        };
        check("2026-11-27T03:00:00Z", false);
        check("2026-11-25T13:00:00Z", false);
        check("2026-11-25T03:00:00Z", true);
    }
}
