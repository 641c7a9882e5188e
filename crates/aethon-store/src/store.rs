//! The store: opening, closing, and the two ways to the file that everything else here takes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::{Clock, SystemClock};

use crate::db::{self, Chore, Readers, Settings, Sql, Synchronous, Writer};
use crate::error::Error;
use crate::time::to_millis;
use crate::{purge, search};

/// What happens in idle moments.
const CHORES: &[Chore] = &[purge::purge_some, search::index_some, search::erase_some];

/// How a store behaves.
#[derive(Clone)]
pub struct Options {
    /// What an acknowledged write survives.
    pub synchronous: Synchronous,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The agent that new sessions are answered by.
    pub agent_name: String,
    /// How long a write waits for another program that writes to the same file.
    pub busy_timeout: Duration,
    /// How large the file may become, in bytes; beyond that writing fails as on a full disk.
    pub max_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Normal,
            clock: Arc::new(SystemClock),
            agent_name: "aethon".to_owned(),
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("synchronous", &self.synchronous).finish_non_exhaustive()
    }
}

/// The storage of one home. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    // Before the writer: the writer's connection is to be the last one that closes, because that tidies the file up.
    readers: Readers,
    writer: Writer,
    clock: Arc<dyn Clock>,
    agent_name: String,
}

impl Store {
    /// Opens the database, creating or migrating it if need be. Blocks for some milliseconds.
    ///
    /// A file that a newer version wrote, or that is something else, is refused and left as it is; see
    /// [`Error::is_newer_version`] and [`Error::is_foreign_file`].
    pub fn open(path: &Path, options: Options) -> Result<Self, Error> {
        let settings = Settings {
            path: path.to_owned(),
            synchronous: options.synchronous,
            busy_timeout: options.busy_timeout,
            max_bytes: options.max_bytes,
        };
        let connection = db::open(&settings)?;
        let writer = Writer::start(connection, settings.clone(), CHORES)?;
        let readers = Readers::new(settings);
        Ok(Self(Arc::new(Inner { readers, writer, clock: options.clock, agent_name: options.agent_name })))
    }

    /// Stores what waits, brings the log into the main file and closes it. Whatever is asked of any clone afterwards is
    /// refused. What was acknowledged is safe without this; it only leaves a tidier file.
    pub async fn close(&self) {
        let store = self.0.clone();
        let closed = tokio::task::spawn_blocking(move || {
            store.readers.close();
            store.writer.close();
        });
        if closed.await.is_err() {
            tracing::warn!("the storage was not closed in order; nothing is lost");
        }
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.writer.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sql<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.readers.run(work).await
    }

    /// Now, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        to_millis(self.0.clock.now())
    }

    pub(crate) fn agent_name(&self) -> &str {
        &self.0.agent_name
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
