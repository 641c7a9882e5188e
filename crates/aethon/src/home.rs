//! The home directory: what lies where, its modes, and the lock that keeps a second daemon out.
//!
//! Directories are 0700 and files 0600 whatever the umask, because a conversation is private. Locks belong to the
//! operating system, which frees them when the process dies in any way. There are two: daemons keep each other out by
//! `server.lock`, and nothing else ever touches it; other programs look at `server.alive` to know whether one runs, and
//! looking takes it for a moment. So somebody who looks can never keep a daemon from starting.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aethon_config::private_file;
use aethon_core::secret::Secret;

use crate::error::{Error, Result};

/// How long a daemon that starts waits for those who look whether one runs. Each look takes microseconds.
const LOOKS: Duration = Duration::from_secs(10);

/// The pause between its attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// The directory that holds everything of one assistant.
#[derive(Debug, Clone)]
pub struct Home(PathBuf);

/// How many letters the key of sign-ins has.
const SIGN_IN_KEY: usize = 64;

/// Keeps a second daemon out for as long as it lives.
#[derive(Debug)]
pub struct HomeLock {
    _lock: File,
    /// Held by nobody else for longer than a look.
    _alive: File,
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

    /// Tool output that was too long for a model.
    pub fn outputs(&self) -> PathBuf {
        self.0.join("outputs")
    }

    /// Tools that were made while the program ran.
    pub fn tools(&self) -> PathBuf {
        self.0.join("tools")
    }

    /// What belongs to the running daemon: its lock and its address.
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// Takes the lock of the daemon; refuses when another one has it. Blocks for a moment when somebody looks.
    pub fn lock(&self) -> Result<HomeLock> {
        let refused = |path: &Path, what: &str, source: io::Error| {
            Error::refused(format!("{} cannot be {what}: {source}", path.display()))
        };
        let taken = || {
            Error::refused(format!(
                "another aethon-server runs on the home {}; stop it first, or give this one a home of its own with --home",
                self.0.display()
            ))
        };
        let open = |path: &Path| {
            private_file::open(path, OpenOptions::new().write(true))
                .map_err(|source| refused(path, "opened", source))
        };
        let (path, alive_path) = (self.run().join("server.lock"), self.alive_file());
        let (lock, alive) = (open(&path)?, open(&alive_path)?);
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => taken(),
            TryLockError::Error(source) => refused(&path, "locked", source),
        })?;
        // A daemon that was killed has left its address; from here on it would be taken for this one's.
        let _ = std::fs::remove_file(self.address_file());
        let deadline = Instant::now() + LOOKS;
        loop {
            match alive.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(taken()),
                Err(TryLockError::Error(source)) => return Err(refused(&alive_path, "locked", source)),
            }
        }
        Ok(HomeLock { _lock: lock, _alive: alive, address: self.address_file() })
    }

    /// What signs the cookies of browsers, made at the first start. Where it cannot be kept, sign-ins end with the process.
    pub fn sign_in_key(&self) -> Secret {
        let path = self.run().join("sign-in.key");
        if let Ok(key) = std::fs::read_to_string(&path)
            && key.trim().len() >= SIGN_IN_KEY
        {
            return Secret::new(key.trim());
        }
        let made =
            random_text().and_then(|key| private_file::write(&path, key.expose().as_bytes()).map(|()| key));
        made.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "the key of sign-ins cannot be kept, so a restart signs browsers out");
            Secret::default()
        })
    }

    /// Which browsers signed in, and which sign-ins were taken back, open for reading and appending. Where it cannot be kept, a
    /// cookie that somebody has copied counts again after a restart.
    pub fn sign_ins(&self) -> Option<File> {
        let path = self.run().join("sign-ins");
        let opened = private_file::open(&path, OpenOptions::new().read(true).append(true));
        opened
            .inspect_err(|error| {
                tracing::warn!(%error, path = %path.display(), "the register of sign-ins cannot be kept");
            })
            .ok()
    }

    /// The address of the daemon that runs on this home, such as `http://127.0.0.1:18790`, if one does and listens.
    pub fn running_daemon(&self) -> Option<String> {
        if !self.has_daemon() {
            return None;
        }
        let address = std::fs::read_to_string(self.address_file()).ok()?;
        Some(address.trim().to_owned()).filter(|address| !address.is_empty())
    }

    /// Whether a daemon runs on this home. One that starts does not listen yet.
    pub fn has_daemon(&self) -> bool {
        let Ok(alive) = OpenOptions::new().write(true).open(self.alive_file()) else { return false };
        // Shared, so that those who look do not take each other for a daemon.
        matches!(alive.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    fn alive_file(&self) -> PathBuf {
        self.run().join("server.alive")
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
        // A stale address does no harm: it counts only while the lock is held, and the next daemon removes it first.
        let _ = std::fs::remove_file(&self.address);
    }
}

/// As many random letters as a key of sign-ins has.
fn random_text() -> io::Result<Secret> {
    let mut bytes = [0; SIGN_IN_KEY / 2];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
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
    use std::sync::atomic::{AtomicBool, Ordering};

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
        assert!(!home.has_daemon() && home.running_daemon().is_none());
        assert!(home.lock().is_ok());
    }

    #[test]
    fn a_daemon_that_starts_has_no_address_of_one_that_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.prepare().unwrap();
        // Killed, it did not remove it.
        std::fs::write(home.address_file(), "http://127.0.0.1:1").unwrap();
        let _lock = home.lock().unwrap();
        assert!(home.has_daemon());
        assert_eq!(home.running_daemon(), None);
    }

    #[test]
    fn those_who_look_never_keep_a_daemon_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.prepare().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // One who looks is never taken for a daemon by another.
                        let found = home.running_daemon();
                        assert!(found.is_none_or(|address| address == "http://127.0.0.1:1"));
                    }
                });
            }
            let started: Vec<bool> = (0..100).map(|_| home.lock().is_ok()).collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(started.iter().all(|&started| started), "{started:?}");
        });
    }
}
