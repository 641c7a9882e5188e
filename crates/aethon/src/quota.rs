//! Limits the size of the database, and the number and size of one-shot sessions, and warns before the first two are reached.
//!
//! The storage itself keeps the size of the database: at its limit it removes one-shot sessions first and then refuses
//! writes. It also removes one-shot sessions that grow too large together; this module checks the rest.
//!
//! After an upgrade, limits that are new defaults wait for a week of uptime, and this module warns the owner of their effects. A
//! limit that the owner has set holds at once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_config::{Config, LimitsSet};
use aethon_core::error::Result;
use aethon_core::feature::{Feature, FeatureState, Features};
use aethon_core::storage::{OneshotLimit, Oneshots, Upkeep};
use tokio::time::Instant;

use crate::home::Home;
use crate::wiring;

/// The interval between two warnings of limits that wait.
const WARNING_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The limits, and the warnings given.
#[derive(Default)]
pub(crate) struct Quota {
    /// The database and its maximum size.
    database: Option<(PathBuf, u64)>,
    /// How many one-shot sessions to keep.
    oneshots: Option<OneshotLimit>,
    /// Which of these are the owner's own, and hold at once after an upgrade.
    set: LimitsSet,
    /// How large the owner lets the one-shot sessions become; that, too, holds at once.
    owner_bytes: Option<u64>,
    /// Whether the owner was warned of the first and of the second limit; reset once there is room again.
    warned: (bool, bool),
    /// When this was last called.
    looked_at: Option<Instant>,
    /// When the owner was last warned of limits that wait.
    warned_of_wait: Option<Instant>,
    /// The notice on the board about limits that wait.
    notice: Notice,
}

/// The notice on the board about default limits that wait since an upgrade, if they will remove or refuse something.
#[derive(Clone, Default)]
pub(crate) struct Notice(Arc<Mutex<Option<String>>>);

impl Notice {
    /// Puts a row on the board for as long as there is something to say.
    fn offer(&self, board: &Features) {
        let notice = self.clone();
        board.offer(move || {
            let message = notice.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let row = |message| {
                Feature::new(
                    ("limits", "New limits"),
                    FeatureState::Degraded,
                    message,
                    "session.oneshot_keep",
                )
            };
            message.map(row).into_iter().collect()
        });
    }

    fn set(&self, message: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }
}

impl Quota {
    /// The limits in the configuration.
    pub(crate) fn of(config: &Config, home: &Home, set: LimitsSet) -> Self {
        let database = wiring::store::max_bytes(config).map(|most| (home.database(), most));
        let oneshots = OneshotLimit::of(config.session.oneshot_keep)
            .with_bytes(wiring::store::max_oneshot_bytes(config));
        let owner_bytes = wiring::store::owner_oneshot_bytes(config, &set);
        Self { database, oneshots: Some(oneshots), set, owner_bytes, ..Self::default() }
    }

    /// Shows on the board which limits wait.
    #[must_use]
    pub(crate) fn showing(self, board: &Features) -> Self {
        self.notice.offer(board);
        self
    }

    /// Checks the usage, warns once near the limit, and removes one-shot sessions in excess.
    pub(crate) async fn look(&mut self, storage: &dyn Upkeep) -> Result<()> {
        let now = Instant::now();
        if let Some(before) = self.looked_at.replace(now) {
            storage.note_uptime(now - before).await?;
        }
        let wait = storage.marks().await?.defaults_wait;
        if let Some(message) = self.database_warning().filter(|_| wait.is_none() || self.set.max_mb) {
            if !std::mem::replace(&mut self.warned.0, true) {
                tracing::warn!("{message}");
            }
        } else {
            self.warned.0 = false;
        }
        let Some(limit) = self.oneshots else { return Ok(()) };
        let found = storage.limit_oneshots(if wait.is_some() { self.of_owner(limit) } else { limit }).await?;
        if found.removed > 0 {
            tracing::warn!(
                removed = found.removed,
                "one-shot sessions beyond `session.oneshot_keep` or `session.oneshot_max_mb`; removed those of webhooks and the longest unused"
            );
        }
        if let Some(left) = wait {
            self.warn_ahead(limit, &found, left, now);
            return Ok(());
        }
        self.notice.set(None);
        let most = limit.sessions;
        let is_near = is_near(found.left, most.into());
        if is_near && !self.warned.1 {
            tracing::warn!(
                sessions = found.left,
                most,
                "one-shot sessions are close to `session.oneshot_keep`; beyond it, the longest unused are removed"
            );
        }
        self.warned.1 = is_near;
        Ok(())
    }

    /// The part of a limit that the owner has set.
    fn of_owner(&self, limit: OneshotLimit) -> OneshotLimit {
        let sessions = if self.set.oneshot_keep { limit.sessions } else { u32::MAX };
        OneshotLimit::of(sessions).with_bytes(self.owner_bytes.unwrap_or(u64::MAX))
    }

    /// Says once a day what limits that wait will remove or refuse.
    fn warn_ahead(&mut self, limit: OneshotLimit, found: &Oneshots, left: Duration, now: Instant) {
        let coming = self.coming(limit, found);
        let message = (!coming.is_empty())
            .then(|| format!("{}; set the keys to decide yourself", ahead(left, &coming.join(", "))));
        let is_due = self.warned_of_wait.is_none_or(|before| now - before >= WARNING_INTERVAL);
        if let Some(message) = message.as_ref().filter(|_| is_due) {
            self.warned_of_wait = Some(now);
            tracing::warn!("{message}");
        }
        self.notice.set(message);
    }

    /// Describes what limits that wait would remove or refuse now.
    fn coming(&self, limit: OneshotLimit, found: &Oneshots) -> Vec<String> {
        let mut coming = Vec::new();
        let surplus = found.left.saturating_sub(limit.sessions.into());
        if surplus > 0 && !self.set.oneshot_keep {
            let (left, most) = (found.left, limit.sessions);
            coming.push(format!(
                "the {surplus} longest unused of {left} one-shot sessions will be removed (`session.oneshot_keep`, {most})"
            ));
        }
        if found.bytes > limit.bytes && self.owner_bytes.is_none_or(|own| own > limit.bytes) {
            let (size, most) = (found.bytes >> 20, limit.bytes >> 20);
            // A key that the owner has already set is not the remedy.
            let key = if self.set.oneshot_max_mb { "storage.max_mb" } else { "session.oneshot_max_mb" };
            coming.push(format!(
                "one-shot sessions will be removed until those {size} MiB are {most} MiB (`{key}`)"
            ));
        }
        coming.extend(self.database_warning().filter(|_| !self.set.max_mb));
        coming
    }

    /// What `doctor` says while default limits wait.
    pub(crate) async fn outlook(&self, storage: &dyn Upkeep) -> Result<Option<String>> {
        let (Some(left), Some(limit)) = (storage.marks().await?.defaults_wait, self.oneshots) else {
            return Ok(None);
        };
        // Counts, and removes nothing.
        let found = storage.limit_oneshots(OneshotLimit::of(u32::MAX).with_bytes(u64::MAX)).await?;
        let coming = self.coming(limit, &found);
        let what = if coming.is_empty() { "nothing exceeds them".to_owned() } else { coming.join(", ") };
        Ok(Some(ahead(left, &what)))
    }

    /// The warning for a database near its limit.
    pub(crate) fn database_warning(&self) -> Option<String> {
        let (path, most) = self.database.as_ref()?;
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        is_near(size, *most).then(|| {
            format!(
                "the database has {} of {} MiB (`storage.max_mb`); beyond that new messages are refused: remove conversations, \
                 or raise the limit",
                size >> 20,
                most >> 20
            )
        })
    }
}

/// Describes when waiting default limits take effect, and how.
fn ahead(left: Duration, what: &str) -> String {
    format!("in {} of uptime, default limits hold that came with the upgrade: {what}", hours(left))
}

/// A length of time as people say it.
fn hours(left: Duration) -> String {
    let hours = left.as_secs().div_ceil(3600);
    if hours > 48 { format!("{} days", hours.div_ceil(24)) } else { format!("{hours} hours") }
}

/// Returns whether four fifths of the limit are used.
fn is_near(there_are: u64, most: u64) -> bool {
    there_are >= most - most / 5
}

#[cfg(test)]
mod tests {
    use aethon_core::storage::{Removed, Retention, StorageMarks};
    use async_trait::async_trait;

    use super::*;

    /// A storage with 12 one-shot sessions that was upgraded, and the calls made to it.
    struct Upgraded {
        left: Mutex<Option<Duration>>,
        limits: Mutex<Vec<OneshotLimit>>,
    }

    #[async_trait]
    impl Upkeep for Upgraded {
        async fn maintain(&self, _: Retention) -> Result<Removed> {
            Ok(Removed::default())
        }

        async fn limit_oneshots(&self, limit: OneshotLimit) -> Result<Oneshots> {
            self.limits.lock().unwrap().push(limit);
            let left = u64::from(limit.sessions.min(12));
            Ok(Oneshots { left, bytes: left << 20, removed: 12 - left })
        }

        async fn marks(&self) -> Result<StorageMarks> {
            Ok(StorageMarks { defaults_wait: *self.left.lock().unwrap(), ..StorageMarks::default() })
        }

        async fn note_uptime(&self, uptime: Duration) -> Result<()> {
            let mut left = self.left.lock().unwrap();
            *left = left.and_then(|left| left.checked_sub(uptime)).filter(|left| !left.is_zero());
            Ok(())
        }

        async fn close(&self) {}
    }

    fn upgraded() -> Upgraded {
        Upgraded { left: Mutex::new(Some(Duration::from_secs(3600))), limits: Mutex::default() }
    }

    fn quota(set: LimitsSet) -> Quota {
        let mut config = Config::default();
        config.session.oneshot_keep = 10;
        Quota::of(&config, &Home::at(std::path::Path::new("/nowhere")), set)
    }

    #[tokio::test(start_paused = true)]
    async fn a_default_limit_removes_nothing_until_its_warning_is_over() {
        let (storage, board) = (upgraded(), Features::default());
        let mut quota = quota(LimitsSet::default()).showing(&board);
        quota.look(&storage).await.unwrap();
        let row = board.now().pop().unwrap();
        assert_eq!((row.id.as_str(), row.state), ("limits", FeatureState::Degraded));
        for words in ["1 hours", "the 2 longest unused of 12", "session.oneshot_keep"] {
            assert!(row.detail.contains(words), "{words} is not in {}", row.detail);
        }
        let outlook = quota.outlook(&storage).await.unwrap().unwrap();
        assert!(outlook.contains("the 2 longest unused of 12"), "{outlook}");
        tokio::time::advance(Duration::from_secs(3599)).await;
        quota.look(&storage).await.unwrap();
        assert!(storage.limits.lock().unwrap().iter().all(|limit| limit.sessions == u32::MAX));
        tokio::time::advance(Duration::from_secs(1)).await;
        quota.look(&storage).await.unwrap();
        assert_eq!(storage.limits.lock().unwrap().last().unwrap().sessions, 10);
        assert!(board.now().is_empty());
        assert_eq!(quota.outlook(&storage).await.unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_the_owner_holds_at_once() {
        let storage = upgraded();
        let mut quota = quota(LimitsSet { oneshot_keep: true, ..LimitsSet::default() });
        quota.look(&storage).await.unwrap();
        let limit = storage.limits.lock().unwrap()[0];
        assert_eq!((limit.sessions, limit.bytes), (10, u64::MAX), "the other one is a default");
    }

    /// A quota of an upgraded home of 12 GiB of one-shot sessions, in which the owner set these keys. Returns the limit that
    /// holds at once, in MiB, and the announcement.
    async fn of_owner(max_mb: Option<u64>, oneshot_max_mb: Option<u64>) -> (Option<u64>, String) {
        let mut config = Config::default();
        let set = LimitsSet {
            max_mb: max_mb.is_some(),
            oneshot_max_mb: oneshot_max_mb.is_some(),
            ..LimitsSet::default()
        };
        config.storage.max_mb = max_mb.unwrap_or(config.storage.max_mb);
        config.session.oneshot_max_mb = oneshot_max_mb.unwrap_or(config.session.oneshot_max_mb);
        let storage = upgraded();
        let mut quota = Quota::of(&config, &Home::at(std::path::Path::new("/nowhere")), set);
        quota.look(&storage).await.unwrap();
        let limit = storage.limits.lock().unwrap()[0];
        let found = Oneshots { left: 12, bytes: 12 << 30, removed: 0 };
        let coming = quota.coming(quota.oneshots.unwrap(), &found).join("; ");
        (Some(limit.bytes >> 20).filter(|_| limit.bytes != u64::MAX), coming)
    }

    #[tokio::test]
    async fn a_default_beside_a_limit_of_the_owner_waits() {
        for (max_mb, oneshot_max_mb, holds, announced) in [
            (None, None, None, "session.oneshot_max_mb"),
            // The database has room for more than the default of its part.
            (Some(100_000), None, Some(25_000), "session.oneshot_max_mb"),
            (Some(0), None, None, "session.oneshot_max_mb"),
            (Some(1_000), None, Some(250), ""),
            // And the other way round.
            (None, Some(20_000), Some(20_000), "storage.max_mb"),
            (None, Some(100), Some(100), ""),
            (Some(1_000), Some(20_000), Some(250), ""),
            (Some(0), Some(20_000), Some(20_000), ""),
        ] {
            let (limit, coming) = of_owner(max_mb, oneshot_max_mb).await;
            let case = format!("{max_mb:?} {oneshot_max_mb:?}: {coming}");
            assert_eq!(limit, holds, "{case}");
            assert_eq!(coming.is_empty(), announced.is_empty(), "{case}");
            assert!(coming.contains(announced), "{case}");
        }
    }

    #[test]
    fn a_database_near_its_limit_causes_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aethon.db");
        let quota = |most| Quota { database: Some((path.clone(), most)), ..Quota::default() };
        assert_eq!(quota(1 << 20).database_warning(), None, "there is none yet");
        std::fs::write(&path, vec![0; 80]).unwrap();
        assert_eq!(quota(101).database_warning(), None);
        assert!(quota(100).database_warning().unwrap().contains("storage.max_mb"));
        assert_eq!(Quota::default().database_warning(), None, "there is no limit");
    }
}
