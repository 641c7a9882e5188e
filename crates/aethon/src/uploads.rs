//! The folder of files that wait for their messages: one private file each, which begins with a line about it.
//!
//! The folder is bounded in files and bytes; a file that is too old makes room, and one that still waits never does, because its
//! person sees it in the message box. Its name there is a random id, so what a person calls it never becomes a path.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::file_copies::FileCopies;
use aethon_core::ids::{is_unique, unique};
use aethon_core::upload::{MAX_UPLOAD, UPLOAD_HOURS, Upload, UploadedFile, Uploads};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

/// The maximum size of all files together, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// The maximum number of files.
const MAX_FILES: usize = 200;

/// The ending of a file that is not complete.
const UNFINISHED: &str = ".part";

/// The files of one home that wait for their messages.
#[derive(Clone)]
pub(crate) struct UploadFolder {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    /// Where other instances find them, too.
    copies: Option<Arc<dyn FileCopies>>,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Label {
    name: String,
    mime: String,
}

/// The ending of a file that went with a message.
const SENT: &str = ".sent";

/// A file of the folder.
struct Kept {
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
    is_sent: bool,
}

/// The folder has no room for a file.
struct NoRoom;

impl UploadFolder {
    /// Opens this folder, which is created when needed.
    pub(crate) fn new(folder: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { folder, clock, copies: None }
    }

    /// The same, with a copy of each file for other instances, and theirs for this one.
    pub(crate) fn with_copies(self, copies: Option<Arc<dyn FileCopies>>) -> Self {
        Self { copies, ..self }
    }

    async fn copy(&self, id: &str, file: Vec<u8>) {
        let Some(copies) = &self.copies else { return };
        let age = SignedDuration::from_hours(UPLOAD_HOURS.cast_signed());
        if let Err(error) = copies.put(id, file, self.clock.now().checked_add(age).ok()).await {
            tracing::warn!(%error, "an uploaded file cannot be copied for other instances");
        }
    }

    /// Removes files that have waited too long. Blocks.
    pub(crate) fn sweep(&self) {
        self.files();
    }

    fn store(&self, id: &str, bytes: &[u8]) -> io::Result<std::result::Result<(), NoRoom>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut files = self.files();
        let mut used: u64 = files.iter().map(|file| file.bytes).sum();
        // A file that went with a message makes room: it stays only in case that message is sent once more.
        files.sort_by_key(|file| (file.is_sent, std::cmp::Reverse(file.modified)));
        while files.len() >= MAX_FILES || used.saturating_add(bytes.len() as u64) > MAX_BYTES {
            let Some(gone) = files.pop_if(|file| file.is_sent) else { return Ok(Err(NoRoom)) };
            fs::remove_file(&gone.path)?;
            used -= gone.bytes;
        }
        let (part, path) = (self.folder.join(format!("{id}{UNFINISHED}")), self.folder.join(id));
        let written = write(&part, bytes).and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            // A remainder is swept with the others, too.
            let _ = fs::remove_file(&part);
        }
        written.map(Ok)
    }

    fn read(&self, id: &str) -> io::Result<Option<UploadedFile>> {
        // Before anything is opened: joined to the folder, an absolute path would lead anywhere.
        if !is_unique(id) {
            return Ok(None);
        }
        let (path, sent) = (self.folder.join(id), self.folder.join(format!("{id}{SENT}")));
        let open = |path: &Path| OpenOptions::new().read(true).open(path);
        let file = match open(&path).or_else(|_| open(&sent)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if self.is_old(file.metadata()?.modified()?) {
            return Ok(None);
        }
        let mut whole = Vec::new();
        file.take(MAX_UPLOAD as u64 + (64 << 10)).read_to_end(&mut whole)?;
        let read = unlabelled(whole)?;
        // Another message may have marked it just now.
        let _ = fs::rename(&path, &sent);
        Ok(Some(read))
    }

    fn remove(&self, id: &str) -> io::Result<()> {
        if !is_unique(id) {
            return Ok(());
        }
        for name in [id.to_owned(), format!("{id}{SENT}")] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes old files, and returns the others.
    fn files(&self) -> Vec<Kept> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            let Ok(modified) = about.modified() else { continue };
            let path = entry.path();
            if self.is_old(modified) {
                // Another program of this home may have removed it just now.
                let _ = fs::remove_file(path);
            } else {
                let is_sent = path.to_string_lossy().ends_with(SENT);
                files.push(Kept { path, modified, bytes: about.len(), is_sent });
            }
        }
        files
    }

    fn is_old(&self, modified: SystemTime) -> bool {
        let age = SystemTime::from(self.clock.now()).duration_since(modified);
        age.is_ok_and(|age| age > Duration::from_secs(UPLOAD_HOURS * 3600))
    }
}

fn write(path: &Path, file: &[u8]) -> io::Result<()> {
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    written.write_all(file)?;
    written.sync_all()
}

/// Puts the label before the content.
fn labelled(label: &Label, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let line = format!("{}\n", serde_json::to_string(label)?);
    bytes.splice(..0, line.into_bytes());
    Ok(bytes)
}

/// Takes the label off.
fn unlabelled(mut file: Vec<u8>) -> io::Result<UploadedFile> {
    let end = file.iter().position(|byte| *byte == b'\n').ok_or(io::ErrorKind::InvalidData)?;
    let label: Label = serde_json::from_slice(&file[..end])?;
    let bytes = file.split_off(end + 1);
    Ok(UploadedFile { name: label.name, mime: label.mime, bytes })
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::unavailable(format!("an uploaded file cannot be {what}: {error}"))
}

#[async_trait]
impl Uploads for UploadFolder {
    async fn keep(&self, name: &str, mime: &str, bytes: Vec<u8>) -> Result<Upload> {
        let upload = Upload { id: unique(), name: name.into(), mime: mime.into(), size: bytes.len() };
        let label = Label { name: upload.name.clone(), mime: upload.mime.clone() };
        let (folder, id) = (self.clone(), upload.id.clone());
        let stored = spawn_blocking(move || {
            let file = labelled(&label, bytes)?;
            folder.store(&id, &file).map(|stored| stored.map(|()| file))
        });
        match stored.await.map_err(|error| failed("kept", error))?.map_err(|error| failed("kept", error))? {
            Ok(file) => {
                self.copy(&upload.id, file).await;
                Ok(upload)
            }
            Err(NoRoom) => Err(Error::full(format!(
                "too many files wait for their messages ({MAX_FILES} files or {} MB at most): send some of them; those that no \
                 message uses are removed after {UPLOAD_HOURS} hours",
                MAX_BYTES >> 20
            ))),
        }
    }

    async fn file(&self, id: &str) -> Result<Option<UploadedFile>> {
        let (folder, own) = (self.clone(), id.to_owned());
        let read = spawn_blocking(move || folder.read(&own)).await;
        let read = read.map_err(|error| failed("read", error))?.map_err(|error| failed("read", error))?;
        match &self.copies {
            Some(copies) if read.is_none() => {
                let copy = copies.get(id).await?;
                copy.map(unlabelled).transpose().map_err(|error| failed("read", error))
            }
            _ => Ok(read),
        }
    }

    async fn forget(&self, id: &str) -> Result<()> {
        let (folder, own) = (self.clone(), id.to_owned());
        let removed = spawn_blocking(move || folder.remove(&own)).await;
        removed.map_err(|error| failed("removed", error))?.map_err(|error| failed("removed", error))?;
        if let Some(copies) = &self.copies {
            copies.remove(id).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::testkit::ManualClock;

    fn folder(path: &Path) -> (UploadFolder, Arc<ManualClock>) {
        // The age of a file comes from the disk, so the clock begins with its time.
        let now = fs::metadata(path).unwrap().modified().unwrap();
        let clock = Arc::new(ManualClock::at(now.try_into().unwrap()));
        (UploadFolder::new(path.join("uploads"), clock.clone()), clock)
    }

    #[tokio::test]
    async fn a_file_waits_for_a_day() {
        let place = tempfile::tempdir().unwrap();
        let (uploads, clock) = folder(place.path());
        let upload = uploads.keep("a\nb.pdf", "application/pdf", b"%PDF\n\n1".to_vec()).await.unwrap();
        assert_eq!(upload.size, 7);
        let (again, _) = folder(place.path());
        let file = again.file(&upload.id).await.unwrap().unwrap();
        assert_eq!((file.name.as_str(), file.mime.as_str()), ("a\nb.pdf", "application/pdf"));
        assert_eq!(file.bytes, b"%PDF\n\n1");
        // A reader of a pipe would never return.
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let pipe = pipe.to_str().unwrap();
        for id in ["", "..", "../uploads", "0", pipe, &"0".repeat(32), &format!("{}/x", upload.id)] {
            let file = tokio::time::timeout(Duration::from_secs(20), uploads.file(id)).await;
            assert!(file.expect("nothing is opened").unwrap().is_none(), "{id}");
        }
        clock.advance(jiff::SignedDuration::from_hours(25));
        assert!(uploads.file(&upload.id).await.unwrap().is_none(), "even before it is swept");
        uploads.sweep();
        assert_eq!(fs::read_dir(place.path().join("uploads")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_file_is_removed_before_its_day_is_over() {
        let place = tempfile::tempdir().unwrap();
        let (uploads, _clock) = folder(place.path());
        let waiting = uploads.keep("a", "text/plain", b"a".to_vec()).await.unwrap();
        let sent = uploads.keep("a", "text/plain", b"b".to_vec()).await.unwrap();
        assert!(uploads.file(&sent.id).await.unwrap().is_some());
        for id in [waiting.id.as_str(), sent.id.as_str(), sent.id.as_str(), "../uploads"] {
            uploads.forget(id).await.unwrap();
        }
        assert_eq!(fs::read_dir(place.path().join("uploads")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn waiting_uploads_are_bounded_and_never_evicted() {
        let place = tempfile::tempdir().unwrap();
        let (uploads, clock) = folder(place.path());
        let first = uploads.keep("a", "text/plain", b"a".to_vec()).await.unwrap();
        for _ in 1..MAX_FILES {
            uploads.keep("a", "text/plain", b"a".to_vec()).await.unwrap();
        }
        let refused = uploads.keep("a", "text/plain", b"a".to_vec()).await.unwrap_err();
        assert!(refused.to_string().contains("200 files"), "{refused}");
        assert!(uploads.file(&first.id).await.unwrap().is_some(), "it goes with a message");
        let second = uploads.keep("a", "text/plain", b"a".to_vec()).await.unwrap();
        assert!(uploads.file(&first.id).await.unwrap().is_none(), "and then makes room");
        assert!(uploads.keep("a", "text/plain", b"a".to_vec()).await.is_err());
        assert!(uploads.file(&second.id).await.unwrap().is_some());
        assert!(uploads.file(&second.id).await.unwrap().is_some(), "a message may be sent once more");
        clock.advance(jiff::SignedDuration::from_hours(25));
        assert!(uploads.keep("a", "text/plain", b"a".to_vec()).await.is_ok());
    }
}
