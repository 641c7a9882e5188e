//! PostgreSQL by `aethon-postgres`.

use std::sync::Arc;

use aethon_core::secret::Secret;
use aethon_core::storage::Storage;
use aethon_core::storage::rows::RowStorage;
use aethon_postgres::{LeaseClock, Options, Store};
use aethon_store::OpenMode;

use super::terms::{CLOCK_FIX, Checked, instance_name};
use crate::error::{Error, Result};
use crate::prepared::Prepared;
use crate::wiring;

/// The storage at `storage.url`.
pub(crate) async fn storage(prepared: &Prepared, mode: OpenMode, max_oneshot_bytes: u64) -> Result<Storage> {
    let store = open(prepared, mode, Some(max_oneshot_bytes)).await?;
    if mode == OpenMode::Daemon
        && let Some(warning) = store.clock_warning().await.unwrap_or_default()
    {
        tracing::warn!("{warning}: {CLOCK_FIX}");
    }
    let health = store.health();
    Ok(Storage::of(Arc::new(store)).with_health(health))
}

async fn open(prepared: &Prepared, mode: OpenMode, max_oneshot_bytes: Option<u64>) -> Result<Store> {
    let config = &prepared.config;
    let options = Options::default().with(|options| {
        options.mode = match mode {
            OpenMode::Daemon => aethon_postgres::OpenMode::Daemon,
            OpenMode::Guest => aethon_postgres::OpenMode::Guest,
        };
        options.instance = instance_name(&prepared.home);
        env!("CARGO_PKG_VERSION").clone_into(&mut options.version);
        options.lease_clock = LeaseClock::Server;
        options.synchronous = config.storage.synchronous;
        options.max_oneshot_bytes = max_oneshot_bytes;
        options.clock = prepared.clock();
    });
    let opened = Store::open(config.storage.url.expose(), options).await;
    opened.map_err(|error| Error::refused(error.to_string()).because(error))
}

/// Looks at the database, for `doctor`.
pub(crate) async fn check(prepared: &Prepared) -> Result<Checked> {
    let store = open(prepared, OpenMode::Guest, None).await?;
    let (memories, clock) = (wiring::memory::amount(&store).await, store.clock_warning().await);
    let words = format!("the {}, format {}", store.words(), store.format());
    store.close().await;
    let clock = clock.map_err(|error| Error::refused(error.to_string()).because(error))?;
    Ok(Checked { words, memories: memories?, clock })
}

/// All rows of the database on a server.
pub(crate) struct ServerRows(aethon_postgres::ServerRows);

impl ServerRows {
    /// Opens the database at this address.
    pub(crate) async fn open(url: &Secret) -> Result<Self> {
        let opened = aethon_postgres::ServerRows::open(url.expose()).await;
        opened.map(Self).map_err(|error| Error::refused(error.to_string()).because(error))
    }

    /// What is at its address, for a person.
    pub(crate) fn words(&self) -> &str {
        self.0.words()
    }

    /// The programs that use it now.
    pub(crate) async fn users(&self) -> Result<Vec<String>> {
        self.0.users().await.map_err(|error| Error::failed(error.to_string()).because(error))
    }

    /// Whether it holds a part of a copy that was not finished.
    pub(crate) async fn is_unfinished(&self) -> Result<bool> {
        self.0.is_unfinished().await.map_err(|error| Error::failed(error.to_string()).because(error))
    }

    /// The rows alone.
    pub(crate) fn into_rows(self) -> Box<dyn RowStorage> {
        Box::new(self.0)
    }
}
