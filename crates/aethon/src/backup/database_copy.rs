//! Puts back a copy of the database, such as the one that a migration makes (`aethon.db.bak-vN`).
//!
//! The database that is there is kept, together with its log: a log beside a database that is not its own would be mixed into
//! it. If that is interrupted, putting the copy back again completes it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::occupied::{self, Occupied};
use super::place::{self, Partial, failed};
use super::restore::Target;
use crate::error::{Error, Result};

/// A copy that was put back.
#[derive(Debug, Clone, Serialize)]
pub struct PutBack {
    /// The database.
    pub database: PathBuf,
    /// The format of the copy.
    pub format: i64,
    /// The newest format that this program knows; it brings an older one to that at its start.
    pub known_format: i64,
    /// Where the database that was there is now.
    pub moved_to: Option<PathBuf>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// Puts a copy in the place of the home's database. Blocks.
pub fn put_back(copy: &Path, target: &Target, now: Timestamp) -> Result<PutBack> {
    let (home, database) = (&target.home, target.home.database());
    if same_file(copy, &database) {
        return Err(Error::refused(format!("{} is the database itself", copy.display())));
    }
    if !fs::metadata(place::with_suffix(copy, "-wal")).map_or(true, |log| log.len() == 0) {
        return Err(Error::refused(format!(
            "{} has a log of its own beside it, so it is a database in use or after a crash, and no copy",
            copy.display()
        )));
    }
    let facts = aethon_store::copy::verify(copy).map_err(|error| {
        Error::refused(format!("{} cannot be put back: {error}", copy.display())).because(error)
    })?;
    if !facts.problems.is_empty() {
        let problems = facts.problems.join("; ");
        return Err(Error::refused(format!("{} is damaged: {problems}", copy.display())));
    }
    let occupied = Occupied::check(home, target.replace)?;
    let exchange = DatabaseExchange::new(&database, "before-restore", now);
    let aside = database.exists().then(|| exchange.aside.clone());
    let put_back = PutBack {
        database: database.clone(),
        format: facts.version,
        known_format: aethon_store::copy::FORMAT,
        moved_to: aside.clone(),
        dry_run: target.dry_run,
    };
    if target.dry_run {
        return Ok(put_back);
    }
    if !occupied.is_full {
        home.prepare()?;
    }
    let size = fs::metadata(copy).map_err(failed("read", copy))?.len();
    place::check_space(home.path(), size, "the copy")?;
    let (partial, mut file) = Partial::create(&database)?;
    let copied = File::open(copy).and_then(|mut copy| io::copy(&mut copy, &mut file));
    copied.and_then(|_| file.sync_all()).map_err(failed("copied", copy))?;
    drop(file);
    exchange.run(partial.path())?;
    partial.forget();
    Ok(put_back)
}

/// Puts a new file in the place of a database, and keeps the old one together with its log.
///
/// The new file takes the name first, in one rename, and the log is moved afterwards: there is a database at every moment. If
/// that is interrupted, the next start sees a log that is not its own and refuses.
pub(crate) struct DatabaseExchange {
    database: PathBuf,
    aside: PathBuf,
}

impl DatabaseExchange {
    /// Plans an exchange; `why` becomes part of the name under which the old one is kept.
    pub(crate) fn new(database: &Path, why: &str, now: Timestamp) -> Self {
        Self { database: database.to_owned(), aside: occupied::aside(database, why, now) }
    }

    /// A name for the new file, beside the database.
    pub(crate) fn new_file(&self) -> PathBuf {
        place::with_suffix(&self.aside, ".new")
    }

    /// Exchanges them. Returns where the old one is, if there was one.
    pub(crate) fn run(self, new: &Path) -> Result<PathBuf> {
        let Self { database, aside } = self;
        if database.exists() {
            keep(&database, &aside).map_err(failed("kept", &database))?;
        }
        fs::rename(new, &database).map_err(failed("replaced", &database))?;
        place::sync_parent(&database)?;
        for suffix in ["-wal", "-shm"] {
            let beside = place::with_suffix(&database, suffix);
            match fs::rename(&beside, place::with_suffix(&aside, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("moved aside", &beside)(error));
                }
                _ => {}
            }
        }
        place::sync_parent(&database)?;
        Ok(aside)
    }
}

/// Gives the old database a second name. Where a file has only one, it is copied, and the copy is on the disk before the old one
/// loses its name. An existing file of that name is never overwritten.
fn keep(database: &Path, aside: &Path) -> io::Result<()> {
    match fs::hard_link(database, aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            fs::copy(database, aside)?;
            File::open(aside)?.sync_all()
        }
        kept => kept,
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
