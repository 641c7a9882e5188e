//! Builds the store from `[storage]`, `[telemetry]` and `[session]`, and turns its errors into refusals to start.

use std::path::Path;
use std::sync::Arc;

use aethon_agent::Learned;
use aethon_config::{Config, LimitsSet};
use aethon_core::clock::Clock;
use aethon_core::storage::{Retention, Storage};
use aethon_store::{DefaultLimits, OpenMode, Options, Store, Upgrade};

use crate::error::{Error, Result};
use crate::postgres;
use crate::prepared::Prepared;
use crate::version;

/// The size of the vector cache. A vector usually takes 4 to 12 KB, so this is a few hundred megabytes at most, and exceeds
/// the memories and documents of one person.
const VECTORS: u32 = 50_000;

/// The storage: the embedding program's, else the database of the home.
pub(crate) async fn storage(prepared: &Prepared, mode: OpenMode) -> Result<Storage> {
    if let Some(storage) = &prepared.source.parts.storage {
        return Ok(storage.clone());
    }
    if prepared.config.storage.is_on_server() {
        return postgres::storage(prepared, mode, max_oneshot_bytes(&prepared.config)).await;
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

pub(super) fn options(config: &Config, clock: Arc<dyn Clock>) -> Options {
    Options::default().with(|options| {
        options.synchronous = config.storage.synchronous;
        options.max_bytes = max_bytes(config);
        options.max_oneshot_bytes = Some(max_oneshot_bytes(config));
        options.clock = clock;
    })
}

pub(super) fn open(path: &Path, options: Options) -> Result<Store> {
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
    // Both keys bound the one-shot sessions; `owner_oneshot_bytes` keeps the one that the owner has set.
    DefaultLimits { file: !set.max_mb, oneshots: !(set.max_mb && set.oneshot_max_mb) }
}

/// What earlier runs learned about models. A failure does not prevent the start.
pub(crate) async fn learned(storage: &Storage) -> Learned {
    let facts = storage.models.recall().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the stored model facts could not be read; they are collected again");
        Vec::new()
    });
    Learned::new(facts, storage.models.clone())
}

/// The maximum size of the database in the home, in bytes.
pub(crate) fn max_bytes(config: &Config) -> Option<u64> {
    let bytes = config.storage.max_mb.saturating_mul(1 << 20);
    // A server has limits of its own.
    (bytes > 0 && !config.storage.is_on_server()).then_some(bytes)
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

/// How long data is kept before upkeep removes it. Without telemetry, single calls are removed after their day; the sums stay.
pub(crate) fn retention(config: &Config) -> Retention {
    let telemetry = &config.telemetry;
    let calls = if telemetry.enabled { telemetry.keep_days } else { 0 };
    Retention::of_oneshots(config.session.oneshot_keep_days)
        .with_calls(calls)
        .with_vectors(VECTORS)
        .with_bin(config.session.bin_days)
}
