//! Opens the storage on a PostgreSQL server, and examines it for `doctor`.

use std::path::Path;
use std::sync::Arc;

use aethon_core::storage::Storage;
use aethon_files::read_given;
use aethon_postgres::{LeaseClock, Options, Store};
use aethon_store::OpenMode;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::prepared::Prepared;

/// The longest name of a machine, in bytes.
const MAX_HOSTNAME: usize = 256;

/// The storage at `storage.url`.
pub(crate) async fn storage(prepared: &Prepared, mode: OpenMode, max_oneshot_bytes: u64) -> Result<Storage> {
    let store = open(prepared, mode, Some(max_oneshot_bytes)).await?;
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

/// The name of a home among those that share a server: no other home has it.
pub(crate) fn instance_name(home: &Home) -> String {
    let named = |path: &str| read_given(Path::new(path), MAX_HOSTNAME).ok().flatten();
    let machine = named("/proc/sys/kernel/hostname").or_else(|| named("/etc/hostname"));
    let machine =
        machine.map(|read| String::from_utf8_lossy(&read.bytes).trim().to_owned()).unwrap_or_default();
    format!("{machine}:{}", home.path().display())
}

/// Describes the database and the number of memories, for `doctor`.
pub(crate) async fn check(prepared: &Prepared) -> Result<(String, String)> {
    let store = open(prepared, OpenMode::Guest, None).await?;
    let memories = super::memory::amount(&store).await;
    let words = format!("the {}, format {}", store.words(), store.format());
    store.close().await;
    Ok((words, memories?))
}
