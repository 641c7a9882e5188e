//! The folder of recordings, as pages, the API and the terminal see it.
//!
//! Every file is verified completely before any of it is shown. The verdict is cached until the file changes, so that
//! listing large recordings is slow only once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::event::{Event, EventBus, RecordingChange, RecordingNews};
use aethon_core::recording::{
    EventPage, EventQuery, ListedRecording, Listing, Manifest, RecordedState, Recording, RecordingFile,
    RecordingName, Recordings, SnapshotSummary,
};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::names::{JOURNAL, ZIP};
use crate::opened::Opened;
use crate::pack::pack;
use crate::running::running;
use crate::seal::Seal;

/// Maximum number of recordings listed; the newest ones.
const MAX_LISTED: usize = 1_000;

/// The recordings in a folder. Cheap to clone.
#[derive(Clone)]
pub struct Library(Arc<LibraryInner>);

struct LibraryInner {
    folder: PathBuf,
    bus: EventBus,
    seal: Option<Seal>,
    verdicts: Mutex<BTreeMap<PathBuf, Verified>>,
}

/// Result of verifying a file at a given stamp.
#[derive(Clone)]
struct Verified {
    stamp: FileStamp,
    outcome: std::result::Result<Manifest, String>,
}

/// Metadata that tells whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    node: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(file: &fs::Metadata) -> Self {
        Self {
            size: file.len(),
            node: file.ino(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl Library {
    /// Returns the recordings of a folder, which need not exist.
    pub fn new(folder: PathBuf, bus: EventBus) -> Self {
        Self::sealed(folder, bus, None)
    }

    /// Returns the recordings of a folder, of which those with this seal were made by this home.
    pub fn sealed(folder: PathBuf, bus: EventBus, seal: Option<Seal>) -> Self {
        Self(Arc::new(LibraryInner { folder, bus, seal, verdicts: Mutex::default() }))
    }

    /// Turns journals that a crash left behind into recordings and returns how many. Journals in use are left alone.
    pub async fn recover(&self) -> usize {
        let inner = self.0.clone();
        tokio::task::spawn_blocking(move || inner.recover()).await.unwrap_or(0)
    }

    async fn with_recording<T: Send + 'static>(
        &self,
        name: &RecordingName,
        work: impl FnOnce(&LibraryInner, &Path) -> Result<T> + Send + 'static,
    ) -> CoreResult<T> {
        let (inner, name) = (self.0.clone(), name.clone());
        let done = tokio::task::spawn_blocking(move || work(&inner, &inner.path(&name)));
        Ok(done
            .await
            .map_err(|error| CoreError::internal("a recording could not be looked at").because(error))??)
    }
}

#[async_trait]
impl Recordings for Library {
    async fn list(&self) -> CoreResult<Listing> {
        let inner = self.0.clone();
        let listed = tokio::task::spawn_blocking(move || {
            inner.list().map(|ended| Listing { ended, running: running(&inner.folder) })
        });
        Ok(listed
            .await
            .map_err(|error| CoreError::internal("recordings could not be listed").because(error))??)
    }

    async fn show(&self, name: &RecordingName) -> CoreResult<Recording> {
        let own = name.clone();
        self.with_recording(name, move |inner, path| {
            let opened = inner.open(path)?;
            let size = fs::metadata(path).map_or(0, |file| file.len());
            let (manifest, entries) = (opened.manifest.manifest(), opened.entries());
            Ok(Recording { name: own, size, manifest, entries })
        })
        .await
    }

    async fn events(&self, name: &RecordingName, query: EventQuery) -> CoreResult<EventPage> {
        self.with_recording(name, move |inner, path| inner.open(path)?.events(&query)).await
    }

    async fn snapshots(&self, name: &RecordingName) -> CoreResult<Vec<SnapshotSummary>> {
        self.with_recording(name, |inner, path| inner.open(path)?.snapshots()).await
    }

    async fn snapshot(&self, name: &RecordingName, number: u64) -> CoreResult<RecordedState> {
        self.with_recording(name, move |inner, path| inner.state(path, number)).await
    }

    async fn download(&self, name: &RecordingName) -> CoreResult<RecordingFile> {
        self.with_recording(name, |inner, path| {
            let file = inner.open(path)?.into_file()?;
            let size =
                file.metadata().map_err(|error| Error::io("the recording cannot be read", error))?.len();
            Ok(RecordingFile { size, bytes: Box::new(file) })
        })
        .await
    }

    async fn remove(&self, name: &RecordingName) -> CoreResult<bool> {
        let own = name.clone();
        self.with_recording(name, move |inner, path| inner.remove(path, &own)).await
    }
}

impl LibraryInner {
    /// Returns the path of a recording, whose name may include the extension.
    fn path(&self, name: &RecordingName) -> PathBuf {
        let path = self.folder.join(format!("{name}{ZIP}"));
        let given = self.folder.join(name.as_str());
        if name.as_str().ends_with(ZIP) && fs::symlink_metadata(&path).is_err() { given } else { path }
    }

    /// Opens a recording that passed verification, now or earlier.
    fn open(&self, path: &Path) -> Result<Opened> {
        match self.verdict(path)?.outcome {
            Ok(_) => Opened::open(path),
            Err(refusal) => Err(Error::bad(format!("this recording is refused: {refusal}"))),
        }
    }

    fn state(&self, path: &Path, number: u64) -> Result<RecordedState> {
        let mut opened = self.open(path)?;
        let is_own = self.seal.as_ref().is_some_and(|seal| seal.made(&opened.manifest));
        Ok(RecordedState { is_own, ..opened.state(number)? })
    }

    fn verdict(&self, path: &Path) -> Result<Verified> {
        let about = fs::symlink_metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if path.with_extension(&JOURNAL[1..]).exists() => Error::not_found(
                "this recording is still being written; it can be opened once its session rests, is reset or deleted",
            ),
            std::io::ErrorKind::NotFound => {
                Error::not_found("there is no such recording; GET /api/sessions/recordings lists them")
            }
            _ => Error::io("the recording cannot be read", error),
        })?;
        let stamp = FileStamp::of(&about);
        if let Some(known) = self.verdicts().get(path).filter(|known| known.stamp == stamp) {
            return Ok(known.clone());
        }
        let checked =
            Opened::open(path).and_then(|mut opened| opened.check().map(|()| opened.manifest.manifest()));
        let outcome = match checked {
            Ok(manifest) => Ok(manifest),
            Err(error) if error.is_bad_recording() => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        let verdict = Verified { stamp, outcome };
        self.verdicts().insert(path.to_owned(), verdict.clone());
        Ok(verdict)
    }

    fn list(&self) -> Result<Vec<ListedRecording>> {
        let mut found: Vec<(Timestamp, RecordingName, PathBuf, u64)> = Vec::new();
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("the folder of recordings cannot be read", error)),
        };
        for file in files.flatten() {
            let Ok(name) = file.file_name().into_string() else { continue };
            let Some(name) = name.strip_suffix(ZIP).and_then(RecordingName::parse) else { continue };
            let Ok(about) = file.metadata() else { continue };
            let modified = Timestamp::from_second(about.mtime()).unwrap_or_default();
            found.push((modified, name, file.path(), about.len()));
        }
        found.sort_unstable_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
        found.truncate(MAX_LISTED);
        self.verdicts().retain(|path, _| found.iter().any(|(_, _, known, _)| known == path));
        let mut listed = Vec::with_capacity(found.len());
        for (modified, name, path, size) in found {
            let manifest = match self.verdict(&path) {
                Ok(verdict) => verdict.outcome,
                // It was removed in the meantime.
                Err(error) if error.is_not_found() => continue,
                Err(error) => Err(error.to_string()),
            };
            let when = manifest.as_ref().map_or(modified, |manifest| manifest.started_at);
            listed.push((when, ListedRecording { name, size, manifest }));
        }
        listed.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| other.1.name.cmp(&one.1.name)));
        Ok(listed.into_iter().map(|(_, recording)| recording).collect())
    }

    fn remove(&self, path: &Path, name: &RecordingName) -> Result<bool> {
        match fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io("the recording cannot be removed", error)),
        }
        self.verdicts().remove(path);
        self.announce(name.as_str(), RecordingChange::Deleted);
        Ok(true)
    }

    fn recover(&self) -> usize {
        let Ok(files) = fs::read_dir(&self.folder) else { return 0 };
        let names: Vec<String> =
            files.flatten().filter_map(|file| file.file_name().into_string().ok()).collect();
        let mut recovered = 0;
        for stem in names.iter().filter_map(|name| name.strip_suffix(JOURNAL)) {
            if stem.starts_with('.') {
                continue;
            }
            let made = Journal::take_over(&self.folder, stem).and_then(|journal| match journal {
                Some(journal) => {
                    self.remove_leftovers(&names, stem);
                    pack(journal, &self.folder, self.seal.as_ref())
                }
                None => Ok(false),
            });
            match made {
                Ok(true) => {
                    tracing::info!(recording = stem, "a recording that was broken off is finished");
                    self.announce(stem, RecordingChange::Ended);
                    recovered += 1;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, recording = stem, "a journal could not be turned into a recording")
                }
            }
        }
        recovered
    }

    /// Removes the temporary ZIPs of a program that was killed while it packed this journal. The caller holds the lock.
    fn remove_leftovers(&self, names: &[String], stem: &str) {
        let unfinished = format!(".{stem}{ZIP}.new-");
        for name in names.iter().filter(|name| name.starts_with(&unfinished)) {
            // A leftover that stays is harmless; listings do not show it.
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn announce(&self, name: &str, change: RecordingChange) {
        let news = || RecordingNews { name: name.to_owned(), session: None, change };
        self.bus.publish(|| Event::Recording(Arc::new(news())));
    }

    fn verdicts(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Verified>> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
