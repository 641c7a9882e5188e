//! Restores a backup: checked first, unpacked beside the home, and then both are swapped.
//!
//! Until the swap the old home is untouched. The swap is two renames; if the second fails, the first is undone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use aethon_archive::seal::Key;
use jiff::Timestamp;
use serde::Serialize;

use super::contents::{DATABASE, ROWS, Summary};
use super::extract::Fresh;
use super::inspect::{Checked, inspect, open, refused};
use super::occupied::{self, Occupied};
use super::place::{self, failed};
use crate::error::{Error, Result};
use crate::home::Home;
use crate::rows::LineRows;

/// Where to restore to, and what may happen there.
#[derive(Debug, Clone)]
pub struct Target {
    /// The home.
    pub home: Home,
    /// Whether a home that is not empty may be moved aside.
    pub replace: bool,
    /// Whether to check only.
    pub dry_run: bool,
}

/// The result of a restore, or of a dry run.
#[derive(Debug, Clone, Serialize)]
pub struct Restored {
    /// The home.
    pub home: PathBuf,
    /// When the backup was begun.
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub created_at: Timestamp,
    /// The version that made it.
    pub version: String,
    /// The format of the database in it.
    pub database_format: Option<i64>,
    /// The restored contents.
    pub contents: Summary,
    /// The file with the rows of a database on a server, which the backup has in place of a database.
    pub rows: Option<PathBuf>,
    /// Where the old home is now.
    pub moved_to: Option<PathBuf>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// Restores a backup. `progress` gets the bytes done and all bytes, twice, and ends it by returning `false`. Blocks.
pub fn restore(
    path: &Path,
    file: &File,
    key: Option<&Key>,
    target: &Target,
    now: Timestamp,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Restored> {
    let Checked { manifest, contents } = inspect((path, file), key, progress)?;
    let home = &target.home;
    let occupied = Occupied::check(home, target.replace)?;
    let restored = |moved_to| Restored {
        home: home.path().to_owned(),
        created_at: manifest.created_at,
        version: manifest.version.clone(),
        database_format: manifest.database_format,
        contents: contents.clone(),
        rows: manifest.entries.contains_key(ROWS).then(|| home.path().join(ROWS)),
        moved_to,
        dry_run: target.dry_run,
    };
    let aside = occupied.is_full.then(|| occupied::aside(home.path(), "before-restore", now));
    let parent = place::parent_of(home.path());
    if target.dry_run {
        return Ok(restored(aside));
    }
    fs::create_dir_all(&parent).map_err(failed("created", &parent))?;
    place::check_space(&parent, contents.bytes, "the restored home")?;
    let name = home.path().file_name().unwrap_or_default().to_string_lossy();
    let fresh = Fresh::create(home.path().with_file_name(format!(".{name}.restoring")))?;
    let mut done = 0;
    let mut report = |bytes| {
        done += bytes;
        progress(done, contents.bytes)
    };
    let mut archive = open(file, key).map_err(|error| refused(path, &error))?;
    fresh.fill(&mut archive, &manifest, &mut report)?;
    if manifest.entries.contains_key(DATABASE) {
        check_database(&fresh.path().join(DATABASE))?;
    }
    if manifest.entries.contains_key(ROWS) {
        LineRows::open(&fresh.path().join(ROWS))?;
    }
    Home::at(fresh.path()).prepare()?;
    swap(home.path(), &fresh, aside.as_deref())?;
    fresh.keep();
    place::sync_parent(home.path())?;
    Ok(restored(aside))
}

fn check_database(path: &Path) -> Result<()> {
    let facts = aethon_store::copy::verify(path).map_err(|error| {
        Error::refused(format!("the database in the backup cannot be used: {error}")).because(error)
    })?;
    if facts.problems.is_empty() {
        return Ok(());
    }
    let problems = facts.problems.join("; ");
    Err(Error::refused(format!("the database in the backup is damaged, so nothing was replaced: {problems}")))
}

/// Puts the new home in the place of the old one.
fn swap(home: &Path, fresh: &Fresh, aside: Option<&Path>) -> Result<()> {
    let unmovable = |error: std::io::Error| {
        Error::refused(format!(
            "the home {} cannot be moved: {error}. If it is a mount point of its own, restore to a folder inside it with \
             --home, and move what is there to its place",
            home.display()
        ))
        .because(error)
    };
    if let Some(aside) = aside {
        place::rename_to_new(home, aside).map_err(unmovable)?;
    }
    // Replaces an empty folder as well.
    fs::rename(fresh.path(), home).map_err(|error| {
        if let Some(aside) = aside {
            // The first failure is the one to report; the old home is whole, whichever name it has.
            let _ = place::rename_to_new(aside, home);
        }
        unmovable(error)
    })
}
