//! The configuration file while a program changes it: read, changed and replaced under one lock, so that of two programs
//! that change it at the same time neither loses what the other wrote.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use aethon_files::Lock;

use crate::private_file;
use crate::sources::Sources;

/// The file, which no other program of ours changes until this is dropped.
#[derive(Debug)]
pub struct HeldFile {
    path: PathBuf,
    text: Option<String>,
    _lock: Lock,
}

impl HeldFile {
    /// Waits for the lock, which lies in the home, and reads the file.
    pub fn open(sources: &Sources) -> io::Result<Self> {
        let locks = sources.home.join("run");
        private_file::create_directory(&locks)?;
        let lock = Lock::take(&locks, "config")?;
        let path = sources.config_file();
        Ok(Self { text: read(&path)?, path, _lock: lock })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its text, empty if there is no file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns whether there is a file.
    pub fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Replaces the file. Refused if it is no longer what was read, because an editor waits for no lock.
    pub fn replace(&mut self, text: &str) -> io::Result<()> {
        if read(&self.path)? != self.text {
            let sentence = "it was changed meanwhile, by something that does not wait for others; try again";
            return Err(io::Error::other(sentence));
        }
        private_file::write(&self.path, text.as_bytes())?;
        self.text = Some(text.to_owned());
        Ok(())
    }
}

/// Reads a text; `None` if there is no file.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
