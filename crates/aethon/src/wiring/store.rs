//! Builds the store from `[storage]`, `[telemetry]` and `[session]`, and turns its errors into refusals to start.

use std::path::Path;
use std::sync::Arc;

use aethon_agent::Learned;
use aethon_config::{Config, LimitsSet};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::storage::{Retention, Storage};
use aethon_store::{DefaultLimits, OpenMode, Options, Store, Upgrade};

use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::quota::Quota;
use crate::version;

/// The size of the vector cache. A vector usually takes 4 to 12 KB, so this is a few hundred megabytes at most, and exceeds
/// the memories and documents of one person.
const VECTORS: u32 = 50_000;

/// The storage: the embedding program's, else the database of the home.
pub(crate) fn storage(prepared: &Prepared, mode: OpenMode) -> Result<Storage> {
    if let Some(storage) = &prepared.parts.storage {
        return Ok(storage.clone());
    }
    let upgrade = if mode == OpenMode::Daemon { Upgrade::Allow } else { Upgrade::Refuse };
    let options = options(&prepared.config, prepared.clock()).with(|options| {
        (options.mode, options.upgrade) = (mode, upgrade);
        options.defaults = defaults(&prepared.shared.limits_set);
        options.owner_oneshot_bytes = owner_oneshot_bytes(&prepared.config, &prepared.shared.limits_set);
    });
    let store = open(&prepared.home.database(), options)?;
    let health = store.health();
    Ok(Storage::of(Arc::new(store)).with_health(health))
}

fn options(config: &Config, clock: Arc<dyn Clock>) -> Options {
    Options::default().with(|options| {
        options.synchronous = config.storage.synchronous;
        options.max_bytes = max_bytes(config);
        options.max_oneshot_bytes = Some(max_oneshot_bytes(config));
        options.clock = clock;
    })
}

fn open(path: &Path, options: Options) -> Result<Store> {
    Store::open(path, options).map_err(refused)
}

/// Turns an error of opening into a refusal. If it is about formats, it says which program speaks.
pub(crate) fn refused(error: aethon_store::Error) -> Error {
    let is_about_formats = error.is_older_version()
        || error.is_newer_version()
        || error.is_held()
        || error.is_no_space_for_copy()
        || error.is_copy_failed();
    let words = match is_about_formats {
        true => format!("{error} (this is aethon {})", version::long()),
        false => error.to_string(),
    };
    Error::refused(words).because(error)
}

/// Which limits of the storage the owner has not set.
fn defaults(set: &LimitsSet) -> DefaultLimits {
    // Both keys bound the one-shot sessions; what one of them says is kept by `owner_oneshot_bytes`.
    DefaultLimits { file: !set.max_mb, oneshots: !(set.max_mb && set.oneshot_max_mb) }
}

/// What earlier runs learned about models. A failure does not prevent the start.
pub(crate) async fn learned(storage: &Storage) -> Learned {
    let facts = storage.models.recall().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "what was learnt about models could not be read; it is learnt again");
        Vec::new()
    });
    Learned::new(facts, storage.models.clone())
}

/// The maximum size of the database in bytes.
pub(crate) fn max_bytes(config: &Config) -> Option<u64> {
    Some(config.storage.max_mb.saturating_mul(1 << 20)).filter(|bytes| *bytes > 0)
}

/// The maximum size of all one-shot sessions in bytes. A smaller database keeps fewer of them.
pub(crate) fn max_oneshot_bytes(config: &Config) -> u64 {
    let own = config.session.oneshot_max_mb.saturating_mul(1 << 20);
    max_bytes(config).map_or(own, |all| own.min(all / 4))
}

/// The part of [`max_oneshot_bytes`] that comes from keys which the owner has set; `None` if that bounds nothing.
pub(crate) fn owner_oneshot_bytes(config: &Config, set: &LimitsSet) -> Option<u64> {
    let own = set.oneshot_max_mb.then(|| config.session.oneshot_max_mb.saturating_mul(1 << 20));
    let of_database = max_bytes(config).filter(|_| set.max_mb).map(|all| all / 4);
    own.into_iter().chain(of_database).min()
}

/// How long data is kept that nobody deletes. Without telemetry, single calls are removed after their day; the sums stay.
pub(crate) fn retention(config: &Config) -> Retention {
    let telemetry = &config.telemetry;
    let calls = if telemetry.enabled { telemetry.keep_days } else { 0 };
    Retention::of_oneshots(config.session.oneshot_keep_days).with_calls(calls).with_vectors(VECTORS)
}

/// A configuration without a limit of the database: what looks at it or adds a row must not make room in it.
fn unlimited() -> Config {
    let mut config = Config::default();
    config.storage.max_mb = 0;
    config
}

/// Opens the database beside other programs, for a command that writes one row.
pub(crate) fn beside(path: &Path) -> Result<Store> {
    open(path, options(&unlimited(), Arc::new(SystemClock)))
}

/// Describes the number of memories, for `doctor`.
pub(crate) async fn memory(path: &Path) -> Result<String> {
    let store = open(path, options(&unlimited(), Arc::new(SystemClock)))?;
    let amount = super::memory::amount(&store).await;
    store.close().await;
    amount
}

/// What is wrong with the database, and what to do about it.
pub(crate) struct Trouble {
    pub(crate) problem: String,
    pub(crate) remedy: Option<String>,
}

impl Trouble {
    /// What is wrong, and the remedy where the storage knows one.
    pub(crate) fn of(error: &Error) -> Self {
        let cause =
            std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<aethon_store::Error>());
        cause.map_or_else(|| Self { problem: error.to_string(), remedy: None }, Self::from)
    }
}

impl From<&aethon_store::Error> for Trouble {
    fn from(error: &aethon_store::Error) -> Self {
        Self { problem: error.problem(), remedy: error.remedy() }
    }
}

/// Describes whether the database is intact and can be written, and what limits will do that wait since an upgrade, for
/// `doctor`.
pub(crate) async fn check(path: &Path, quota: &Quota) -> Result<(String, Option<String>), Trouble> {
    let store = Store::open(path, options(&unlimited(), Arc::new(SystemClock)));
    let store = store.map_err(|error| Trouble::from(&error))?;
    let health = store.check().await;
    let outlook = quota.outlook(&store).await;
    store.close().await;
    if let Some(obstacle) = store.obstacle() {
        return Err(obstacle.into());
    }
    let health = health.map_err(|error| Trouble::from(&error))?;
    match health.damage() {
        None => {
            let report = format!("{} KiB, format {}, sound", health.size.div_ceil(1024), health.version);
            let outlook = outlook.map_err(|error| Trouble { problem: error.to_string(), remedy: None })?;
            Ok((report, outlook))
        }
        Some(damage) => {
            let Trouble { problem, remedy } = Trouble::from(&damage);
            Err(Trouble { problem: format!("{problem} ({})", health.problems.join("; ")), remedy })
        }
    }
}
