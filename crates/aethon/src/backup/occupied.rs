//! Whether a home may be replaced, judged by its contents and its users.

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;

use super::place;
use crate::error::{Error, Result};
use crate::home::{Home, HomeLock};

/// The state of a home that is to be restored.
pub(super) struct Occupied {
    /// Whether there is something to move aside.
    pub(super) is_full: bool,
    /// Keeps a server from starting meanwhile.
    pub(super) _lock: Option<HomeLock>,
}

impl Occupied {
    /// Checks that the home is not in use, and that it is empty or may be replaced.
    pub(super) fn check(home: &Home, replace: bool) -> Result<Self> {
        let shown = home.path().display();
        let unusable = |error| Error::refused(format!("the home {shown} cannot be used: {error}"));
        refuse_daemon(home)?;
        let is_full = match fs::read_dir(home.path()) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(unusable(error)),
        };
        if !is_full {
            return Ok(Self { is_full, _lock: None });
        }
        if !replace {
            return Err(Error::refused(format!(
                "the home {shown} is not empty; pass --replace to move it aside, or restore to another one with --home DIR"
            )));
        }
        let lock = in_use(home)?;
        Ok(Self { is_full, _lock: lock })
    }
}

fn refuse_daemon(home: &Home) -> Result<()> {
    let shown = home.path().display();
    match home.has_daemon() {
        true => Err(Error::refused(format!("aethon-server runs on the home {shown}; stop it first"))),
        false => Ok(()),
    }
}

/// Refuses a home in use. The returned lock keeps a server from starting.
pub(crate) fn in_use(home: &Home) -> Result<Option<HomeLock>> {
    refuse_daemon(home)?;
    // From here on, none can start either.
    let lock = home.run().is_dir().then(|| home.lock()).transpose()?;
    if aethon_store::copy::is_open_elsewhere(&home.database()) {
        return Err(Error::refused(format!(
            "another program has the database of {} open, such as a chat in a terminal or an editor that runs aethon-mcp; end it \
             first",
            home.path().display()
        )));
    }
    Ok(lock)
}

/// The name under which a home or a database is kept.
pub(super) fn aside(path: &std::path::Path, why: &str, now: Timestamp) -> PathBuf {
    let base = place::with_suffix(path, &format!(".{why}-{}", place::stamp(now)));
    let numbered = (2..100).map(|number| place::with_suffix(&base, &format!("-{number}")));
    std::iter::once(base.clone())
        .chain(numbered)
        .find(|path| fs::symlink_metadata(path).is_err())
        .unwrap_or(base)
}
