//! Opens the database beside other programs: to write one row, or to examine it for `doctor`.

use std::path::Path;
use std::sync::Arc;

use aethon_config::Config;
use aethon_core::clock::SystemClock;
use aethon_store::Store;

use super::store::{open, options};
use crate::error::{Error, Result};
use crate::quota::Quota;

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

/// A problem of the database, and its remedy.
pub(crate) struct Trouble {
    pub(crate) problem: String,
    pub(crate) remedy: Option<String>,
}

impl Trouble {
    /// The problem, and the remedy where the storage knows one.
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
