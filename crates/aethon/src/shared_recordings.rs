//! The recordings of all instances: each copies those that end at it to the database, and takes those of the others into its own
//! folder when they are looked at. What is removed at one is removed at all.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::event::{Event, EventBus, RecordingChange};
use aethon_core::file_copies::{FileCopies, MAX_COPY};
use aethon_core::recording::{
    EventPage, EventQuery, Listing, RecordedState, Recording, RecordingFile, RecordingName, Recordings,
    SnapshotSummary,
};
use aethon_files::{Directory, read_given};
use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::spawn_blocking;

/// The ending of a recording's file, which is not part of its name.
const ENDING: &str = ".zip";

/// The recordings of a home, and those of the other instances.
#[derive(Clone)]
pub(crate) struct SharedRecordings {
    pub(crate) here: Arc<dyn Recordings>,
    pub(crate) copies: Arc<dyn FileCopies>,
    pub(crate) folder: PathBuf,
}

impl SharedRecordings {
    /// Copies recordings that end at this instance, and removes the copies of those that are removed, for as long as it is polled.
    /// At first it copies what ended while nothing was copied.
    pub(crate) async fn follow(self, bus: EventBus) {
        let mut events = bus.subscribe();
        self.copy_missing().await;
        loop {
            match events.recv().await {
                Ok(Event::Recording(news)) => match news.change {
                    RecordingChange::Ended => self.copy(&news.name).await,
                    RecordingChange::Deleted => self.remove_copy(&news.name).await,
                    RecordingChange::Began => {}
                },
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.copy_missing().await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Copies what is here only, unless it was removed elsewhere.
    pub(crate) async fn copy_missing(&self) {
        let (Ok(here), Ok(known)) = (self.here.list().await, self.copies.list().await) else { return };
        let known: BTreeSet<String> = known.into_iter().map(|copy| copy.name).collect();
        for recording in here.ended {
            if recording.manifest.is_ok() && !known.contains(recording.name.as_str()) {
                self.copy(recording.name.as_str()).await;
            }
        }
    }

    async fn copy(&self, name: &str) {
        let path = self.folder.join(format!("{name}{ENDING}"));
        let read = spawn_blocking(move || read_given(&path, MAX_COPY + 1)).await;
        let read = read.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into()));
        let copied = match read {
            Ok(Some(read)) => {
                self.copies.put(name, read.bytes, None).await.map_err(|error| error.to_string())
            }
            // It was removed meanwhile.
            Ok(None) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = copied {
            tracing::warn!(error, name, "a recording cannot be copied to the database");
        }
    }

    async fn remove_copy(&self, name: &str) {
        if let Err(error) = self.copies.remove(name).await {
            tracing::warn!(%error, name, "a removed recording is still in the database");
        }
    }

    /// Has a recording in the folder, if another instance has made it.
    async fn fetch(&self, name: &RecordingName) -> Result<()> {
        let name = stem(name);
        let file = format!("{name}{ENDING}");
        let (folder, sought) = (self.folder.clone(), file.clone());
        let is_here = move || Directory::open(&folder).is_ok_and(|folder| folder.stamp_of(sought).is_some());
        if spawn_blocking(is_here).await.unwrap_or(false) {
            return Ok(());
        }
        let Some(content) = self.copies.get(name).await? else { return Ok(()) };
        let folder = self.folder.clone();
        let written = spawn_blocking(move || {
            std::fs::create_dir_all(&folder)?;
            Directory::open(&folder)?.write(&file, &content)
        });
        let failed = |error: std::io::Error| {
            Error::unavailable("a recording of another instance cannot be written here").because(error)
        };
        written.await.map_err(|error| failed(std::io::Error::other(error)))?.map_err(failed)
    }

    /// Brings the folder, which has these, up to date: takes in what others recorded, and removes what was removed. Returns
    /// whether anything was to be done.
    async fn catch_up(&self, here: &Listing) -> Result<bool> {
        let here: BTreeSet<&str> = here.ended.iter().map(|listed| listed.name.as_str()).collect();
        let mut has_changed = false;
        for copy in self.copies.list().await? {
            let Some(name) = RecordingName::parse(&copy.name) else { continue };
            match (copy.is_removed, here.contains(&*copy.name)) {
                (false, false) => self.fetch(&name).await?,
                (true, true) => drop(self.here.remove(&name).await?),
                _ => continue,
            }
            has_changed = true;
        }
        Ok(has_changed)
    }
}

/// Returns the name of a recording without the ending, with which it may be asked for.
fn stem(name: &RecordingName) -> &str {
    name.as_str().strip_suffix(ENDING).unwrap_or(name.as_str())
}

#[async_trait]
impl Recordings for SharedRecordings {
    async fn list(&self) -> Result<Listing> {
        let listing = self.here.list().await?;
        if self.catch_up(&listing).await? { self.here.list().await } else { Ok(listing) }
    }

    async fn show(&self, name: &RecordingName) -> Result<Recording> {
        self.fetch(name).await?;
        self.here.show(name).await
    }

    async fn events(&self, name: &RecordingName, query: EventQuery) -> Result<EventPage> {
        self.fetch(name).await?;
        self.here.events(name, query).await
    }

    async fn snapshots(&self, name: &RecordingName) -> Result<Vec<SnapshotSummary>> {
        self.fetch(name).await?;
        self.here.snapshots(name).await
    }

    async fn snapshot(&self, name: &RecordingName, number: u64) -> Result<RecordedState> {
        self.fetch(name).await?;
        self.here.snapshot(name, number).await
    }

    async fn download(&self, name: &RecordingName) -> Result<RecordingFile> {
        self.fetch(name).await?;
        self.here.download(name).await
    }

    async fn remove(&self, name: &RecordingName) -> Result<bool> {
        // First, so that no instance takes it in again.
        let was_copied = self.copies.remove(stem(name)).await?;
        Ok(self.here.remove(name).await? || was_copied)
    }
}
