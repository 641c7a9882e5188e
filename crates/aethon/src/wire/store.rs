//! `[storage]`, `[telemetry]` and `[session]` to the store, and its errors to refusals.

use std::path::Path;
use std::sync::Arc;

use aethon_config::{Config, schema};
use aethon_core::clock::{Clock, SystemClock};
use aethon_store::{Keep, Opener, Options, Store, Synchronous};

use crate::error::{Error, Result};

/// How many vectors are kept. Usual ones take 4 to 12 KB: some hundred megabytes at most, and more texts than a person's
/// memories and documents come to.
const VECTORS: u32 = 50_000;

pub(crate) fn open(path: &Path, config: &Config, clock: Arc<dyn Clock>, opener: Opener) -> Result<Store> {
    let synchronous = match config.storage.synchronous {
        schema::Synchronous::Normal => Synchronous::Normal,
        schema::Synchronous::Full => Synchronous::Full,
    };
    Store::open(path, Options { opener, synchronous, clock, ..Options::default() })
        .map_err(|error| Error::refused(error.to_string()).because(error))
}

/// How long things are kept that nobody removes. Without telemetry single calls go with their day; the sums stay.
pub(crate) fn keep(config: &Config) -> Keep {
    let telemetry = &config.telemetry;
    let calls = if telemetry.enabled { telemetry.keep_days } else { 0 };
    Keep { oneshots: config.session.oneshot_keep_days, calls, vectors: VECTORS }
}

/// Whether the database is sound, in words. For `doctor`.
pub(crate) async fn check(path: &Path) -> Result<String> {
    let store = open(path, &Config::default(), Arc::new(SystemClock), Opener::Guest)?;
    let health = store.check().await;
    store.close().await;
    let health = health.map_err(|error| Error::failed(error.to_string()).because(error))?;
    if health.problems.is_empty() {
        Ok(format!("{} KiB, format {}, sound", health.size.div_ceil(1024), health.version))
    } else {
        Err(Error::failed(format!("the database is damaged: {}", health.problems.join("; "))))
    }
}
