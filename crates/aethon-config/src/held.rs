//! The configuration file while a program changes it: read, changed and replaced under one lock, so that of two programs
//! that change it at the same time neither loses the changes of the other.

use std::io;
use std::path::{Path, PathBuf};

use aethon_files::{Lock, Refusal};

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

    /// Replaces the file. Refused if it has changed since it was read, because an editor takes no lock.
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

/// The largest text that is read: far more than anybody configures.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Reads a text; `None` if there is no file. Anything but a regular file is refused: reading a FIFO blocks until it is
/// written to, and the reader would hold the lock meanwhile.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let Some(contents) = aethon_files::read_given(path, MAX_BYTES).map_err(Refusal::into_io)? else {
        return Ok(None);
    };
    if !contents.is_whole {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let text = String::from_utf8(contents.bytes);
    text.map(Some).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes a FIFO")]
    fn a_fifo_in_place_of_the_file_is_refused_without_waiting() {
        let home = tempfile::tempdir().unwrap();
        let sources = Sources { home: home.path().to_owned(), ..Sources::default() };
        let made = std::process::Command::new("mkfifo").arg(sources.config_file()).status().unwrap();
        assert!(made.success());
        let (done, wait) = channel();
        thread::spawn(move || {
            let held = HeldFile::open(&sources).map(drop);
            let loaded = crate::load(&sources).map(drop).map_err(|error| error.to_string());
            done.send((held, loaded)).unwrap();
        });
        let (held, loaded) = wait.recv_timeout(Duration::from_secs(20)).expect("it waits for the FIFO");
        assert!(held.unwrap_err().to_string().contains("a FIFO"));
        assert!(loaded.unwrap_err().contains("a FIFO"));
    }
}
