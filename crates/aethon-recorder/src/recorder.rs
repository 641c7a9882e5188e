//! The recorder as the program holds it: a hook, a wrapped storage, and the writing thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use aethon_core::hook::Hook;
use aethon_core::storage::Storage;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::hook::RecorderHook;
use crate::options::Options;
use crate::queue::Queue;
use crate::shared::{Shared, Status};
use crate::tracker::Tracker;
use crate::watched::{WatchedOwners, WatchedTranscripts, WatchedTurns};
use crate::writer::Writer;

/// Records sessions while it is alive. Cheap to clone.
#[derive(Clone)]
pub struct Recorder(Arc<Handle>);

/// Ends the writing thread when the last clone of the recorder is dropped.
struct Handle {
    shared: Arc<Shared>,
    writer: Mutex<Option<oneshot::Receiver<()>>>,
}

impl Recorder {
    /// Starts the writing thread.
    pub fn start(options: Options) -> Result<Self> {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            tracker: Tracker::default(),
            status: Mutex::default(),
            clock: options.clock.clone(),
            redactor: options.redactor.clone(),
        });
        let measured = Arc::downgrade(&shared);
        let measure = move || measured.upgrade().map(|shared| shared.queue.bytes() + shared.tracker.bytes());
        options.bus.telemetry().caches().add("recorder", measure);
        let (done, writer) = oneshot::channel();
        let mut loop_of_writer = Writer::new(options, shared.clone());
        let run = move || {
            loop_of_writer.run();
            // The receiver is gone if the recorder was dropped.
            let _ = done.send(());
        };
        thread::Builder::new()
            .name("recorder".into())
            .spawn(run)
            .map_err(|error| Error::io("the thread of the recorder cannot be started", error))?;
        Ok(Self(Arc::new(Handle { shared, writer: Mutex::new(Some(writer)) })))
    }

    /// Returns the hook that observes turns. It must come after all hooks that change requests or results.
    pub fn hook(&self) -> Arc<dyn Hook> {
        Arc::new(RecorderHook(self.0.shared.clone()))
    }

    /// Wraps the storage for the engine, so that the recorder sees every stored message.
    #[must_use]
    pub fn watch(&self, storage: Storage) -> Storage {
        let (turns, transcripts, shared) =
            (storage.turns.clone(), storage.transcripts.clone(), &self.0.shared);
        let mut watched = storage;
        watched.turns =
            Arc::new(WatchedTurns { turns, transcripts: transcripts.clone(), shared: shared.clone() });
        watched.transcripts = Arc::new(WatchedTranscripts { transcripts, shared: shared.clone() });
        watched.owners = Arc::new(WatchedOwners { owners: watched.owners.clone(), shared: shared.clone() });
        watched
    }

    /// Returns the health of the recorder.
    pub fn status(&self) -> Status {
        self.0.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all recordings if `within` suffices. The next start packs the rest.
    pub async fn close(&self, within: Duration) {
        self.0.shared.queue.close();
        let writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer
            && timeout(within, writer).await.is_err()
        {
            tracing::warn!("recordings were not finished in time; the next start finishes them");
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}
