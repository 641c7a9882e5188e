//! The home directory: what lies where, its modes, and the lock that keeps a second daemon out.
//!
//! Directories are 0700 and files 0600 whatever the umask, because a conversation is private. The lock belongs to the
//! operating system, which frees it when the process dies in any way.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use aethon_config::private_file;

use crate::error::{Error, Result};

/// The directory that holds everything of one assistant.
#[derive(Debug, Clone)]
pub struct Home(PathBuf);

/// Keeps a second daemon out for as long as it lives.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
    address: PathBuf,
}

impl Home {
    /// The home at this path; nothing is looked at or made.
    pub fn at(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Makes what is missing.
    pub fn prepare(&self) -> Result<()> {
        let folders = [self.0.clone(), self.credentials(), self.workspace(), self.sops(), self.recordings()];
        for folder in folders.iter().chain([&self.logs(), &self.run()]) {
            make_private(folder).map_err(|source| {
                let folder = folder.display();
                Error::refused(format!("the folder {folder} cannot be made or used: {source}; choose another home with --home or AETHON_HOME, or mend its permissions"))
            })?;
        }
        Ok(())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// What the owner knows of models beyond the built-in table.
    pub fn models(&self) -> PathBuf {
        self.0.join("models.json")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.0.join("aethon.db")
    }

    /// One file a secret.
    pub fn credentials(&self) -> PathBuf {
        self.0.join("credentials")
    }

    /// Where the assistant works, with `SOUL.md`, `TOOLS.md` and so on.
    pub fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// Custom SOPs.
    pub fn sops(&self) -> PathBuf {
        self.workspace().join("sops")
    }

    /// Recorded sessions.
    pub fn recordings(&self) -> PathBuf {
        self.0.join("recordings")
    }

    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// What belongs to the running daemon: its lock and its address.
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// Takes the lock of the daemon; refuses when another one has it.
    pub fn lock(&self) -> Result<HomeLock> {
        let path = self.run().join("server.lock");
        let open = private_file::open(&path, OpenOptions::new().write(true));
        let file =
            open.map_err(|source| Error::refused(format!("{} cannot be opened: {source}", path.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(HomeLock { _file: file, address: self.address_file() }),
            Err(TryLockError::WouldBlock) => Err(Error::refused(format!(
                "another aethon-server runs on the home {}; stop it first, or give this one a home of its own with --home",
                self.0.display()
            ))),
            Err(TryLockError::Error(source)) => {
                Err(Error::refused(format!("{} cannot be locked: {source}", path.display())))
            }
        }
    }

    /// The address of the daemon that runs on this home, such as `http://127.0.0.1:18790`, if one does.
    pub fn running_daemon(&self) -> Option<String> {
        let lock = OpenOptions::new().write(true).open(self.run().join("server.lock")).ok()?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let address = std::fs::read_to_string(self.address_file()).ok()?;
                Some(address.trim().to_owned()).filter(|address| !address.is_empty())
            }
            _ => None,
        }
    }

    /// Where a running daemon writes its address.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.run().join("server.address")
    }
}

impl HomeLock {
    /// Tells other programs of this home where the daemon listens.
    pub fn publish_address(&self, address: &str) -> io::Result<()> {
        private_file::write(&self.address, address.as_bytes())
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // A stale address does no harm: it counts only while the lock is held.
        let _ = std::fs::remove_file(&self.address);
    }
}

/// Makes a folder, or closes one that is there to others. Where that is not ours to do (a mounted volume), it stays as it
/// is and `doctor` tells.
fn make_private(folder: &Path) -> io::Result<()> {
    private_file::create_directory(folder)?;
    if std::fs::metadata(folder)?.permissions().mode() & 0o777 != 0o700 {
        let _ = std::fs::set_permissions(folder, Permissions::from_mode(0o700));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_private_and_has_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(&folder.path().join("new/home"));
        home.prepare().unwrap();
        for path in [home.path().to_owned(), home.credentials(), home.sops(), home.run()] {
            assert_eq!(
                std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o700,
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn one_daemon_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.prepare().unwrap();
        assert_eq!(home.running_daemon(), None);
        let lock = home.lock().unwrap();
        lock.publish_address("http://127.0.0.1:1").unwrap();
        assert!(home.lock().unwrap_err().is_refusal());
        assert_eq!(home.running_daemon().as_deref(), Some("http://127.0.0.1:1"));
        drop(lock);
        assert_eq!(home.running_daemon(), None);
        assert!(home.lock().is_ok());
    }
}
