//! The home directory: what lies where, its modes, and the lock that keeps a second daemon out.
//!
//! Directories are 0700 and files 0600 whatever the umask, because a conversation is private. The lock belongs to the
//! operating system, which frees it when the process dies in any way.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
    /// Opens a home, making what is missing.
    pub fn open(path: &Path) -> Result<Self> {
        let home = Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        let folders = [home.0.clone(), home.credentials(), home.workspace(), home.sops(), home.recordings()];
        for folder in folders.iter().chain([&home.logs(), &home.run()]) {
            make_private_folder(folder).map_err(|source| {
                let folder = folder.display();
                Error::refused(format!("the folder {folder} cannot be made or used: {source}; choose another home with --home or AETHON_HOME, or mend its permissions"))
            })?;
        }
        Ok(home)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
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
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = open.map_err(|source| Error::refused(format!("{} cannot be opened: {source}", path.display())))?;
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

    fn address_file(&self) -> PathBuf {
        self.run().join("server.address")
    }
}

impl HomeLock {
    /// Tells other programs of this home where the daemon listens.
    pub fn publish_address(&self, address: &str) -> io::Result<()> {
        write_private(&self.address, address.as_bytes())
    }
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // A stale address does no harm: it counts only while the lock is held.
        let _ = std::fs::remove_file(&self.address);
    }
}

/// Replaces a file so that after a crash it is either the old one or the new one: write beside, sync, rename. Mode 0600.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let write = || {
        // What an earlier crash left over may have any mode, so it is never written into.
        match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

fn make_private_folder(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => return Err(io::Error::other("it is not a folder")),
        Ok(found) if found.permissions().mode() & 0o777 == 0o700 => return Ok(()),
        Ok(_) => {}
        Err(_) => std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?,
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_private_and_has_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(&folder.path().join("new/home")).unwrap();
        for path in [home.path().to_owned(), home.credentials(), home.sops(), home.run()] {
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
    }

    #[test]
    fn one_daemon_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert_eq!(home.running_daemon(), None);
        let lock = home.lock().unwrap();
        lock.publish_address("http://127.0.0.1:1").unwrap();
        assert!(home.lock().unwrap_err().is_refusal());
        assert_eq!(home.running_daemon().as_deref(), Some("http://127.0.0.1:1"));
        drop(lock);
        assert_eq!(home.running_daemon(), None);
        assert!(home.lock().is_ok());
    }

    #[test]
    fn a_file_is_replaced_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "old").unwrap();
        write_private(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
