//! Files of backups: private, written beside their name and renamed, and never over something else.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use aethon_config::private_file;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// At most this much of a disk stays free; of a small one a tenth.
const MAX_RESERVE: u64 = 256 << 20;

/// The ending of a file that is not complete.
pub(super) const PARTIAL: &str = ".partial";

/// The free space that a backup or a restore leaves.
const RESERVE: u64 = 16 << 20;

/// A time as part of a file name.
pub(super) fn stamp(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A name with something behind it.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Says what could not be done with a file.
pub(super) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |error| Error::failed(format!("{path} could not be {what}: {error}")).because(error)
}

/// A private file that is not complete yet. Removed when dropped, unless it was given its name.
///
/// Its writer holds a lock on it, by which other programs that write to the same folder, for another home for example, recognise
/// that it is no leftover.
pub(super) struct Partial {
    path: PathBuf,
    is_kept: bool,
    _lock: File,
}

impl Partial {
    /// Creates it beside `target`. One that an interrupted run left there is replaced.
    pub(super) fn create(target: &Path) -> Result<(Self, File)> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}{PARTIAL}"));
        if !remove_abandoned(&path).map_err(failed("removed", &path))? {
            return Err(Error::refused(format!(
                "{} is being written by another program; if there is none, remove it",
                path.display()
            )));
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(failed("created", &path))?;
        let lock = file.try_clone().map_err(failed("created", &path))?;
        // A file system without locks keeps leftovers, and nothing else.
        while lock.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        let partial = Self { path, is_kept: false, _lock: lock };
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed("made private", &partial.path))?;
        // Another program may have taken it for a leftover before it was locked.
        if file.metadata().is_ok_and(|about| about.nlink() == 0) {
            let gone = failed("created", &partial.path)(io::ErrorKind::NotFound.into());
            // Whatever has the name now is another program's.
            partial.forget();
            return Err(gone);
        }
        Ok((partial, file))
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it alone: it was renamed.
    pub(super) fn forget(mut self) {
        self.is_kept = true;
    }

    /// Gives it its name, unless there is a file of that name by now.
    pub(super) fn keep(mut self, target: &Path) -> Result<()> {
        rename_to_new(&self.path, target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(target),
            _ => failed("named", target)(error),
        })?;
        self.is_kept = true;
        sync_parent(target)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_kept {
            // A leftover is harmless and recognisable by its name.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes an incomplete file that no program writes any more. Returns whether there is none now; where locks do not work, every
/// one counts as being written.
pub(super) fn remove_abandoned(path: &Path) -> io::Result<bool> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    // For writing: NFS gives an exclusive lock to no other handle.
    let file = match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => fs::remove_file(path).map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Renames without replacing anything.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can; then this looks first.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        other => Ok(other?),
    }
}

/// The refusal to write over a file.
pub(super) fn exists(target: &Path) -> Error {
    Error::refused(format!("{} exists; name another file, or remove it first", target.display()))
}

/// Makes a change of names in the folder of `path` durable.
pub(super) fn sync_parent(path: &Path) -> Result<()> {
    let parent = parent_of(path);
    File::open(&parent).and_then(|folder| folder.sync_all()).map_err(failed("synced", &parent))
}

/// The folder of a path.
pub(super) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Creates the folder of backups if it is missing. The one above it has to be there: behind a longer missing path is a disk that is
/// not mounted, or a slip, and not a place for backups.
///
/// # Errors
///
/// If the folder above is missing, or the folder cannot be created.
pub fn create_folder(folder: &Path) -> Result<()> {
    let above = parent_of(folder);
    if folder.is_absolute()
        && matches!(fs::metadata(&above), Err(error) if error.kind() == io::ErrorKind::NotFound)
    {
        return Err(Error::refused(format!(
            "{} is missing: mount its disk, create it, or correct backup.dir",
            above.display()
        )));
    }
    private_file::create_directory(folder).map_err(failed("created", folder))
}

/// The space of a disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// The space that is free for us.
    pub(super) free: u64,
    /// All of it.
    pub(super) all: u64,
}

impl Space {
    /// What stays free for everything else that writes there.
    pub(super) fn reserve(self) -> u64 {
        (self.all / 10).min(MAX_RESERVE)
    }
}

/// Returns the space of a folder's disk; `None` if the file system cannot tell.
pub(super) fn space(folder: &Path) -> Option<Space> {
    let about = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(about.f_frsize);
    Some(Space { free: bytes(about.f_bavail), all: bytes(about.f_blocks) })
}

/// Refuses to go on if a folder's disk lacks so many bytes.
pub(super) fn check_space(folder: &Path, bytes: u64, what: &str) -> Result<()> {
    // A file system that cannot tell is taken at its word when it is full.
    let Some(Space { free, .. }) = space(folder) else { return Ok(()) };
    let wanted = bytes.saturating_add(RESERVE);
    if free >= wanted {
        return Ok(());
    }
    let (folder, wanted, free) = (folder.display(), wanted.div_ceil(1 << 20), free >> 20);
    Err(Error::refused(format!(
        "{what} needs {wanted} MiB in {folder}, where {free} MiB are free: free some space"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_backup_of_another_program_is_neither_replaced_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("aethon-20261127T022542Z.zip");
        let (partial, file) = Partial::create(&target).unwrap();
        drop(file);
        let refusal = Partial::create(&target).map(drop).unwrap_err();
        assert!(refusal.is_refusal() && refusal.to_string().contains("another program"), "{refusal}");
        super::super::shelf::sweep(folder.path());
        assert!(partial.path().exists());
        // The file of a killed program has no lock.
        let path = partial.path().to_owned();
        partial.forget();
        Partial::create(&target).unwrap().0.forget();
        super::super::shelf::sweep(folder.path());
        assert!(!path.exists());
    }
}
