//! The home directory: its layout, its permissions, and the lock that keeps a second daemon out.
//!
//! Directories are 0700 and files 0600 whatever the umask, because conversations are private. The locks are the operating
//! system's, which frees them however the process dies. There are two: daemons exclude each other by `server.lock`, and hold
//! `server.alive` to show that they run. Older versions hold the first alone, so other programs probe both, each for a moment;
//! a daemon that starts tries again until such a probe is over.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aethon_config::private_file;
use aethon_core::secret::Secret;
use aethon_files::{Lock, Subdirectory};

use crate::error::{Error, Result};

/// How long a starting daemon waits for probes of `server.alive` to finish. Each takes microseconds.
const LOOKS: Duration = Duration::from_secs(10);

/// How long it waits for probes of `server.lock`. A daemon of an older version holds it without showing that it runs.
const LOOKS_AT_LOCK: Duration = Duration::from_secs(2);

/// The pause between its attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// The directory that holds everything belonging to one assistant.
#[derive(Debug, Clone)]
pub struct Home(PathBuf);

/// The length of the sign-in key, in letters.
const SIGN_IN_KEY: usize = 64;

/// Keeps a second daemon out until it is dropped.
#[derive(Debug)]
pub struct HomeLock {
    _lock: File,
    /// Shows other programs that a daemon runs; they lock it only for the moment of a probe.
    _alive: File,
    address: PathBuf,
}

impl Home {
    /// The home at this path. Nothing is checked or created.
    pub fn at(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Creates missing directories.
    pub fn prepare(&self) -> Result<()> {
        let folders = [self.0.clone(), self.credentials(), self.workspace(), self.recordings()];
        for folder in folders.iter().chain([&self.logs(), &self.run()]) {
            make_private(folder).map_err(|source| {
                let folder = folder.display();
                Error::refused(format!("the folder {folder} cannot be created or used: {source}; choose another home with --home or AETHON_HOME, or correct its permissions"))
            })?;
        }
        // Whatever else lies there leads elsewhere or is a mistake; it must not keep the assistant from starting, and what it
        // leads to is none of ours. It is reported as a folder that is not used.
        let _ = Subdirectory::new(self.sops()).open_or_new();
        Ok(())
    }

    /// The path of the home.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The owner's additions to the model catalogue.
    pub fn models(&self) -> PathBuf {
        self.0.join("models.json")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.0.join("aethon.db")
    }

    /// The credentials, one file per secret.
    pub fn credentials(&self) -> PathBuf {
        self.0.join("credentials")
    }

    /// The workspace of the assistant, with `SOUL.md`, `TOOLS.md` and so on.
    pub fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// Custom SOPs.
    pub fn sops(&self) -> PathBuf {
        self.workspace().join(aethon_core::shaping::SOPS)
    }

    /// Saved prompts.
    pub fn prompts(&self) -> PathBuf {
        self.workspace().join(aethon_core::shaping::PROMPTS)
    }

    /// What custom SOPs said before.
    pub fn sop_history(&self) -> PathBuf {
        self.0.join("history/sops")
    }

    /// Session recordings.
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

    /// What files were before tools changed them.
    pub fn changes(&self) -> PathBuf {
        self.0.join("changes")
    }

    /// Tools created at run time.
    pub fn tools(&self) -> PathBuf {
        self.0.join("tools")
    }

    /// The runtime files of the daemon: its lock and its address.
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// Files that wait for their messages.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.run().join("uploads")
    }

    /// Takes the daemon lock, or fails if another daemon holds it. Blocks briefly while another program probes.
    pub fn lock(&self) -> Result<HomeLock> {
        let refused = |path: &Path, what: &str, source: io::Error| {
            Error::refused(format!("{} cannot be {what}: {source}", path.display()))
        };
        let taken = || {
            Error::refused(format!(
                "another aethon-server is running on the home {}; stop it first, or choose another home with --home",
                self.0.display()
            ))
        };
        let open = |path: &Path| {
            private_file::open(path, OpenOptions::new().write(true))
                .or_else(|error| match error.kind() {
                    // On a read-only file system a file that is there can still be locked.
                    io::ErrorKind::ReadOnlyFilesystem => File::open(path).map_err(|_| error),
                    _ => Err(error),
                })
                .map_err(|source| refused(path, "opened", source))
        };
        let (path, alive_path) = (self.run().join("server.lock"), self.alive_file());
        let (lock, alive) = (open(&path)?, open(&alive_path)?);
        let is_over = |since: Instant| since.elapsed() >= LOOKS_AT_LOCK || is_held(&alive_path);
        locked(&lock, is_over).map_err(|error| match error {
            TryLockError::WouldBlock => taken(),
            TryLockError::Error(source) => refused(&path, "locked", source),
        })?;
        // A daemon that was killed left its address behind; now it would be taken for this one's.
        let _ = std::fs::remove_file(self.address_file());
        locked(&alive, |since| since.elapsed() >= LOOKS).map_err(|error| match error {
            TryLockError::WouldBlock => taken(),
            TryLockError::Error(source) => refused(&alive_path, "locked", source),
        })?;
        Ok(HomeLock { _lock: lock, _alive: alive, address: self.address_file() })
    }

    /// The key that signs browser cookies, created at the first start. If it cannot be stored, sign-ins end with the process.
    pub fn sign_in_key(&self) -> Secret {
        let path = self.run().join("sign-in.key");
        let read = || {
            let key = std::fs::read_to_string(&path).ok()?;
            (key.trim().len() >= SIGN_IN_KEY).then(|| Secret::new(key.trim()))
        };
        if let Some(key) = read() {
            return key;
        }
        // Of two programs that find none, one makes it. Without the lock, each would go on with its own.
        let _lock = Lock::take(&self.run(), "sign-in.key").ok();
        if let Some(key) = read() {
            return key;
        }
        let made =
            random_text().and_then(|key| private_file::write(&path, key.expose().as_bytes()).map(|()| key));
        made.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "the sign-in key cannot be stored, so a restart signs browsers out");
            Secret::default()
        })
    }

    /// Opens the list of sign-ins and revocations for reading and appending. If it cannot be kept, a stolen cookie becomes valid
    /// again after a restart.
    pub fn sign_ins(&self) -> Option<File> {
        let path = self.run().join("sign-ins");
        let opened = private_file::open(&path, OpenOptions::new().read(true).append(true));
        opened
            .inspect_err(|error| {
                tracing::warn!(%error, path = %path.display(), "the list of sign-ins cannot be stored");
            })
            .ok()
    }

    /// The address of this home's running daemon, such as `http://127.0.0.1:18790`, if there is one and it listens.
    pub fn running_daemon(&self) -> Option<String> {
        if !self.has_daemon() {
            return None;
        }
        let address = std::fs::read_to_string(self.address_file()).ok()?;
        Some(address.trim().to_owned()).filter(|address| !address.is_empty())
    }

    /// Returns whether a daemon of whatever version runs on this home. A daemon that is still starting does not listen yet.
    pub fn has_daemon(&self) -> bool {
        is_held(&self.alive_file()) || is_held(&self.run().join("server.lock"))
    }

    fn alive_file(&self) -> PathBuf {
        self.run().join("server.alive")
    }

    /// The file in which a running daemon publishes its address.
    pub(crate) fn address_file(&self) -> PathBuf {
        self.run().join("server.address")
    }
}

impl HomeLock {
    /// Publishes the daemon's address to other programs on this home.
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

/// Takes a lock, trying again until `is_over` says that its holder is no probe.
fn locked(file: &File, is_over: impl Fn(Instant) -> bool) -> std::result::Result<(), TryLockError> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if !is_over(since) => std::thread::sleep(PAUSE),
            taken_or_not => return taken_or_not,
        }
    }
}

/// Returns whether a daemon holds this lock. The probe is a shared lock, so that two of them do not take each other for a daemon.
fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Random letters for a sign-in key.
fn random_text() -> io::Result<Secret> {
    let mut bytes = [0; SIGN_IN_KEY / 2];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// Creates a folder, or makes an existing one private. If we lack the permission (a mounted volume), it stays as it is and
/// `doctor` reports it.
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
    fn a_second_daemon_is_refused() {
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
        // A killed daemon did not remove its address.
        std::fs::write(home.address_file(), "http://127.0.0.1:1").unwrap();
        let _lock = home.lock().unwrap();
        assert!(home.has_daemon());
        assert_eq!(home.running_daemon(), None);
    }

    #[test]
    fn a_daemon_of_an_older_version_is_seen_by_its_lock_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.prepare().unwrap();
        drop(home.lock().unwrap());
        let old = OpenOptions::new().write(true).open(home.run().join("server.lock")).unwrap();
        old.try_lock().unwrap();
        std::fs::write(home.address_file(), "http://127.0.0.1:1").unwrap();
        assert!(home.has_daemon());
        assert_eq!(home.running_daemon().as_deref(), Some("http://127.0.0.1:1"));
        assert!(home.lock().unwrap_err().is_refusal());
        drop(old);
        assert!(!home.has_daemon() && home.lock().is_ok());
    }

    #[test]
    fn checking_for_a_daemon_never_prevents_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.prepare().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // A probe is never taken for a daemon by another probe.
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
