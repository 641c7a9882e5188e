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

/// The name of a home among those that share a server: no other home has it.
pub(crate) fn instance_name(home: &Home) -> String {
    let named = |path: &str| read_given(Path::new(path), MAX_HOSTNAME).ok().flatten();
    let machine = named("/proc/sys/kernel/hostname").or_else(|| named("/etc/hostname"));
    let machine =
        machine.map(|read| String::from_utf8_lossy(&read.bytes).trim().to_owned()).unwrap_or_default();
    format!("{machine}:{}", home.path().display())
}

/// What to do about a clock that is wrong.
pub(crate) const CLOCK_FIX: &str = "keep the clocks of all machines right, by NTP: until then messages carry wrong times, and a \
                                    page that moves between instances loads its conversation again";

/// What `doctor` tells of the database.
pub(crate) struct Checked {
    /// The server and the format.
    pub(crate) words: String,
    /// The number of memories.
    pub(crate) memories: String,
    /// How the clock of this machine differs from the server's.
    pub(crate) clock: Option<String>,
}

/// Looks at the database, for `doctor`.
pub(crate) async fn check(prepared: &Prepared) -> Result<Checked> {
    let store = open(prepared, OpenMode::Guest, None).await?;
    let (memories, clock) = (super::memory::amount(&store).await, store.clock_warning().await);
    let words = format!("the {}, format {}", store.words(), store.format());
    store.close().await;
    let clock = clock.map_err(|error| Error::refused(error.to_string()).because(error))?;
    Ok(Checked { words, memories: memories?, clock })
}
