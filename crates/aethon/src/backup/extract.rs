//! Unpacks a checked backup into a new folder.
//!
//! The folder is new and private, every name was judged, and nothing that exists is opened, so nothing can lead out of it. All
//! content is hashed once more: the file may have changed since it was checked.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aethon_archive::{Archive, Entry, Error as ArchiveError, Kind};
use aethon_config::private_file;

use super::inspect::{Hashing, copy};
use super::manifest::{self, Manifest};
use super::place::failed;
use crate::error::{Error, Result};

/// A folder that is being filled. Removed when dropped, unless it became the home.
pub(super) struct Fresh {
    path: PathBuf,
    is_kept: bool,
}

impl Fresh {
    /// Creates an empty folder at this path, in place of one that an interrupted run left.
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        if fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir()) {
            fs::remove_dir_all(&path).map_err(failed("removed", &path))?;
        }
        fs::create_dir(&path).map_err(failed("created", &path))?;
        let fresh = Self { path, is_kept: false };
        fs::set_permissions(&fresh.path, Permissions::from_mode(0o700))
            .map_err(failed("made private", &fresh.path))?;
        Ok(fresh)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps it: it has its name.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }

    /// Unpacks everything but the manifest.
    pub(super) fn fill<Content: Read + Seek>(
        &self,
        archive: &mut Archive<Content>,
        manifest: &Manifest,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        for position in 0..archive.entries().len() {
            let entry = archive.entries()[position].clone();
            let path = self.path.join(&entry.name);
            if entry.kind == Kind::Folder {
                private_file::create_directory(&path).map_err(failed("created", &path))?;
                continue;
            }
            if entry.name == manifest::NAME {
                continue;
            }
            let sum = self.unpack(archive, (position, &entry), progress)?;
            if !manifest.entries.get(&entry.name).is_some_and(|expected| sum.eq_ignore_ascii_case(expected)) {
                return Err(Error::failed("the backup changed while it was restored; nothing was replaced"));
            }
        }
        self.sync()
    }

    fn unpack<Content: Read + Seek>(
        &self,
        archive: &mut Archive<Content>,
        (position, entry): (usize, &Entry),
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<String> {
        let path = self.path.join(&entry.name);
        if let Some(folder) = path.parent() {
            private_file::create_directory(folder).map_err(failed("created", folder))?;
        }
        let mode = if entry.is_executable { 0o700 } else { 0o600 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        let mut sink = Hashing::new(file.map_err(failed("created", &path))?);
        let content = archive.read(position).map_err(unpacked)?;
        copy(content, &mut sink, progress).map_err(unpacked)?;
        let (file, sum) = sink.finish();
        // Whatever the umask.
        file.set_permissions(Permissions::from_mode(mode)).map_err(failed("made private", &path))?;
        if let Some(time) = entry.modified {
            // Only for people; a file system that has no such times is fine.
            let _ = file.set_modified(SystemTime::from(time));
        }
        if cfg!(not(target_os = "linux")) {
            file.sync_all().map_err(failed("synced", &path))?;
        }
        Ok(sum)
    }

    /// Makes everything durable: at once where the system can, else each file was synced on its own.
    fn sync(&self) -> Result<()> {
        let folder = File::open(&self.path).map_err(failed("opened", &self.path))?;
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&folder).map_err(|error| failed("synced", &self.path)(error.into()))?;
        folder.sync_all().map_err(failed("synced", &self.path))
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.is_kept {
            // A leftover is recognisable by its name, and the next restore removes it.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn unpacked(error: ArchiveError) -> Error {
    let full = error.io_kind() == Some(std::io::ErrorKind::StorageFull);
    let message = match full {
        true => "the disk is full, so nothing was restored or replaced: free some space".to_owned(),
        false => format!("the backup could not be unpacked, and nothing was replaced: {error}"),
    };
    Error::failed(message).because(error)
}
