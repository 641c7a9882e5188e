//! A location that may be written: an open directory, a name in it, and its present content.
//!
//! After the same checks as for reading, missing folders are created step by step, and the directory is judged once
//! open. From then on no path is used any more: the new content is written to a temporary file in the same open
//! directory, flushed to disk, and renamed. Readers see either the old file or the new one. A symlink is never followed
//! and never written through.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aethon_core::tool::ToolError;
use aethon_files::{Stamp, beneath, unfinished};
use rustix::fs::{AtFlags, Mode, fchmod, fsync, renameat, unlinkat};

use super::paths::MAX_PATH;
use super::workspace::{Opened, Resolved, Workspace, failed};
use crate::changes::Content;

/// The largest content that is read to be recognised: as much as a file has after a tool has added to it.
const MAX_CONTENT: u64 = 64 << 20;

/// A location that may be written.
pub(crate) struct Writable {
    parent: OwnedFd,
    name: OsString,
    /// Its real path.
    pub(crate) path: PathBuf,
    /// The file that is there now.
    pub(crate) existing: Option<Opened>,
    mode: Mode,
}

impl Workspace {
    /// Locates a file to write, and creates missing folders on the way. Blocks.
    pub(crate) fn writable(&self, path: &str) -> Result<Writable, ToolError> {
        if path.ends_with('/') {
            return Err(ToolError::failed(format!("{path:?} names a folder; add the name of the file")));
        }
        let resolved = self.resolve_new(path)?;
        self.place(path, resolved)
    }

    /// Locates a file under exactly this real path; `None` if its folder is not there. Blocks.
    pub(super) fn writable_at(&self, real: &Path) -> Result<Option<Writable>, ToolError> {
        let resolved = self.resolve_exact(real)?;
        if let Some(folder) = real.parent()
            && let Err(error) = beneath::directory(&resolved.base, folder, None)
            && error.kind() == io::ErrorKind::NotFound
        {
            return Ok(None);
        }
        self.place_at(real, resolved).map(Some)
    }

    /// The same, and creates missing folders on the way. Blocks.
    pub(super) fn writable_made_at(&self, real: &Path) -> Result<Writable, ToolError> {
        self.place_at(real, self.resolve_exact(real)?)
    }

    fn resolve_exact(&self, real: &Path) -> Result<Resolved, ToolError> {
        let path = real.to_str().ok_or_else(|| ToolError::failed("its path is no text"))?;
        let resolved = self.resolve_new(path)?;
        if resolved.real == real { Ok(resolved) } else { Err(self.linked(real)) }
    }

    fn place_at(&self, real: &Path, resolved: Resolved) -> Result<Writable, ToolError> {
        let place = self.place(&self.shown(real), resolved)?;
        if place.path == real { Ok(place) } else { Err(self.linked(real)) }
    }

    fn linked(&self, real: &Path) -> ToolError {
        ToolError::denied(format!("{:?} is reached through a link now", self.shown(real)))
    }

    fn place(&self, path: &str, resolved: Resolved) -> Result<Writable, ToolError> {
        let Resolved { base, real, .. } = resolved;
        let (Some(folder), Some(name)) = (real.parent().filter(|_| real != base), real.file_name()) else {
            return Err(ToolError::failed(format!("{path:?} is a directory, not a file")));
        };
        if real.as_os_str().len() > MAX_PATH {
            return Err(ToolError::failed("the path is too long"));
        }
        // Check before any folder is created, and again once the directory is open.
        self.check_later(path, &real, &base)?;
        let (file_mode, folder_mode) = self.new_modes(&real);
        let parent =
            beneath::directory(&base, folder, Some(folder_mode)).map_err(|error| failed(path, &error))?;
        let folder = self.check_directory(&parent, path, &base)?;
        self.check_later(path, &folder.join(name), &base)?;
        self.check_folder(path, &folder, &base)?;
        let existing = match beneath::readable(&parent, name) {
            Ok(file) => Some(self.check_file(file, path, &base)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(path, &error)),
        };
        Ok(Writable { parent, name: name.to_owned(), path: folder.join(name), existing, mode: file_mode })
    }
}

impl Writable {
    /// Replaces the content atomically. Fails if the file has changed since it was opened. Blocks.
    pub(crate) fn replace(&self, content: &[u8]) -> io::Result<()> {
        let (mut file, beside) = unfinished::create(&self.parent, self.mode)?;
        let written = self.write(&mut file, content).and_then(|()| {
            self.check_unchanged()?;
            Ok(renameat(&self.parent, &beside, &self.parent, &self.name)?)
        });
        if let Err(error) = written {
            // The temporary file is useless now; if it stays, it is harmless.
            let _ = unlinkat(&self.parent, &beside, AtFlags::empty());
            return Err(error);
        }
        Ok(fsync(&self.parent)?)
    }

    /// Removes the file. Fails if it has changed since it was opened. Blocks.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.check_unchanged()?;
        unlinkat(&self.parent, &self.name, AtFlags::empty())?;
        Ok(fsync(&self.parent)?)
    }

    /// Gives a file that is not there yet these permissions.
    #[must_use]
    pub(super) fn with_mode(self, mode: Option<u32>) -> Self {
        Self { mode: mode.map_or(self.mode, |mode| Mode::from_raw_mode(mode & 0o777)), ..self }
    }

    /// Reads what the file has in it. Blocks.
    pub(super) fn content(&self) -> io::Result<Content> {
        let Some(existing) = &self.existing else { return Ok(Content::Absent) };
        let mut file = &existing.file;
        file.rewind()?;
        let mut content = Vec::new();
        file.take(MAX_CONTENT + 1).read_to_end(&mut content)?;
        Ok(match content.len() as u64 > MAX_CONTENT {
            true => Content::Unread(existing.length),
            false => Content::Whole(content),
        })
    }

    /// Returns the permissions of the file, if there is one.
    pub(super) fn present_mode(&self) -> io::Result<Option<u32>> {
        let metadata = self.existing.as_ref().map(|existing| existing.file.metadata()).transpose()?;
        Ok(metadata.map(|metadata| metadata.permissions().mode() & 0o777))
    }

    fn write(&self, file: &mut File, content: &[u8]) -> io::Result<()> {
        if let Some(existing) = &self.existing {
            let mode = existing.file.metadata()?.permissions().mode() & 0o777;
            fchmod(&*file, Mode::from_raw_mode(mode))?;
        }
        file.write_all(content)?;
        file.sync_all()
    }

    /// Fails if the file is not what was opened any more, so that no other writer loses anything.
    fn check_unchanged(&self) -> io::Result<()> {
        let opened = self.existing.as_ref().map(|existing| existing.stamp);
        match Stamp::at(&self.parent, &self.name)? == opened {
            true => Ok(()),
            false => Err(io::Error::other("another program changed it just now; read it again")),
        }
    }
}
