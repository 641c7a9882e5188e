//! Writing and removing beneath an open directory: a file appears as a whole or not at all, and nothing is ever written
//! through a link.

use std::ffi::OsStr;
use std::io::{self, Write as _};

use rustix::fs::{AtFlags, Mode, fsync, mkdirat, renameat, unlinkat};
use rustix::io::Errno;

use crate::directory::{Directory, plain};
use crate::refusal::Refusal;
use crate::unfinished;

/// Private files and directories, as everything in the assistant's home.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

impl Directory {
    /// Opens a directory in this one, and creates it if nothing has that name.
    ///
    /// # Errors
    ///
    /// It is a link or no directory, or it cannot be created or opened.
    pub fn inner_or_new(&self, name: impl AsRef<OsStr>) -> Result<Self, Refusal> {
        let name = plain(name.as_ref())?;
        if let Some(inner) = self.inner(name)? {
            return Ok(inner);
        }
        match mkdirat(&self.handle, name, DIRECTORY_MODE) {
            // Another process may have created it meanwhile, or something else of that name.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.inner(name)?.ok_or_else(|| Refusal::Failed(io::ErrorKind::NotFound.into()))
    }

    /// Writes a private file, replacing the one of that name. Readers see the old file or the new one; a link of that name
    /// is replaced and not followed.
    ///
    /// # Errors
    ///
    /// It could not be written; then the old file is unchanged.
    pub fn write(&self, name: impl AsRef<OsStr>, content: &[u8]) -> io::Result<()> {
        let name = plain(name.as_ref()).map_err(Refusal::into_io)?;
        let (mut file, temporary) = unfinished::create(&self.handle, FILE_MODE)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let written = written.and_then(|()| Ok(renameat(&self.handle, &temporary, &self.handle, name)?));
        if let Err(error) = written {
            // If it stays, it is harmless.
            let _ = unlinkat(&self.handle, &temporary, AtFlags::empty());
            return Err(error);
        }
        Ok(fsync(&self.handle)?)
    }

    /// Removes an entry that is no directory; a link is removed and not followed. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// It could not be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<bool> {
        let name = plain(name.as_ref()).map_err(Refusal::into_io)?;
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
