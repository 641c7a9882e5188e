//! The folder of backups: their names, which there are, and which go.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use aethon_archive::seal::{self, Needs};
use aethon_config::schema::Backup as Options;
use aethon_core::backup::Backup;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::OFlags;

use super::place::{self, PARTIAL, failed};
use crate::error::Result;
use crate::home::Home;

const PREFIX: &str = "aethon-";
const PLAIN: &str = ".zip";
const SEALED: &str = ".zip.age";

/// Maximum number of files that are listed.
const MAX_LISTED: usize = 10_000;

/// The file of a backup that is begun now: a name that is free.
pub fn new_file(folder: &Path, now: Timestamp, encrypted: bool) -> PathBuf {
    let named = |seconds| folder.join(name(now + SignedDuration::from_secs(seconds), encrypted));
    (0..60).map(named).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_else(|| named(0))
}

fn name(now: Timestamp, encrypted: bool) -> String {
    format!("{PREFIX}{}{}", place::stamp(now), if encrypted { SEALED } else { PLAIN })
}

/// The folder that `backup.dir` names.
pub fn folder(options: &Options, home: &Home) -> PathBuf {
    let dir = options.dir.trim();
    home.path().join(if dir.is_empty() { "backups" } else { dir })
}

/// Lists the backups in a folder, newest first. A missing folder holds none.
pub(super) fn list(folder: &Path) -> Result<Vec<Backup>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", folder)(error)),
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut backups: Vec<Backup> = names.take(MAX_LISTED).filter_map(|name| read(folder, name)).collect();
    backups.sort_by(|one, other| (other.created_at, &other.name).cmp(&(one.created_at, &one.name)));
    Ok(backups)
}

/// Removes all but the newest good ones, broken ones that are older than those, and what interrupted runs left.
pub(super) fn prune(folder: &Path, keep: u32) -> Result<()> {
    let backups = list(folder)?;
    let keep = usize::try_from(keep).unwrap_or(usize::MAX).max(1);
    let oldest_kept = backups.iter().filter(|backup| backup.ok).nth(keep - 1).map(|backup| backup.created_at);
    let Some(oldest_kept) = oldest_kept else { return Ok(()) };
    for backup in backups.iter().filter(|backup| backup.created_at < oldest_kept) {
        let path = folder.join(&backup.name);
        fs::remove_file(&path).map_err(failed("removed", &path))?;
        tracing::info!(backup = %path.display(), "an old backup was removed");
    }
    Ok(())
}

/// Removes files of interrupted runs. Programs of other homes may be writing to the same folder; their files stay.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&format!(".{PREFIX}")) && name.ends_with(PARTIAL) {
            // It takes space only; the next run tries again.
            let _ = place::remove_abandoned(&entry.path());
        }
    }
}

fn read(folder: &Path, name: String) -> Option<Backup> {
    let created_at = begun(&name)?;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(folder.join(&name)).ok()?;
    let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let needs = seal::needs(&file);
    let encrypted = name.ends_with(SEALED);
    let ok = match needs {
        Ok(Needs::Nothing) => !encrypted && is_whole(&file),
        Ok(_) => encrypted,
        Err(_) => false,
    };
    Some(Backup { name, size: about.len(), created_at, encrypted, ok })
}

/// Returns whether a ZIP begins and ends like one. All of it was checked before it got its name.
fn is_whole(mut file: &File) -> bool {
    let mut start = [0; 4];
    let begins = file.read_exact(&mut start).is_ok() && start == *b"PK\x03\x04";
    begins && aethon_archive::count_entries(file).is_ok_and(|entries| entries > 0)
}

/// Returns when the backup of this name was begun; `None` if the name is none of ours.
fn begun(name: &str) -> Option<Timestamp> {
    let stem = name.strip_prefix(PREFIX)?;
    let stem = stem.strip_suffix(SEALED).or_else(|| stem.strip_suffix(PLAIN))?;
    let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", stem).ok()?;
    civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, is_good: bool) {
        let mut writer = aethon_archive::ArchiveWriter::new(Vec::new(), aethon_archive::Limits::BACKUP);
        let about = aethon_archive::About { size: 1, ..Default::default() };
        writer.add("x", about, &b"x"[..]).unwrap();
        let zip = writer.finish().unwrap();
        let cut = if is_good { zip.len() } else { zip.len() / 2 };
        fs::write(folder.join(name), &zip[..cut]).unwrap();
    }

    #[test]
    fn a_name_tells_when_the_backup_was_begun() {
        let now: Timestamp = "2026-11-27T02:25:42Z".parse().unwrap();
        for encrypted in [false, true] {
            assert_eq!(begun(&name(now, encrypted)), Some(now));
        }
        for other in [
            "aethon-.zip",
            "aethon-20261127T022542Z",
            "x-20261127T022542Z.zip",
            ".aethon-20261127T022542Z.zip.partial",
        ] {
            assert_eq!(begun(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_good_backups_stay_whatever_lies_between() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [("06", true), ("05", false), ("04", true), ("03", true), ("02", false), ("01", true)];
        for (day, is_good) in rows {
            put(folder.path(), &format!("aethon-202611{day}T000000Z.zip"), is_good);
        }
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let names = || -> Vec<String> {
            let listed = list(folder.path()).unwrap();
            listed.iter().map(|backup| format!("{} {}", &backup.name[13..15], backup.ok)).collect()
        };
        assert_eq!(names(), ["06 true", "05 false", "04 true", "03 true", "02 false", "01 true"]);
        prune(folder.path(), 5).unwrap();
        assert_eq!(names().len(), 6, "fewer good ones than are kept");
        prune(folder.path(), 2).unwrap();
        assert_eq!(names(), ["06 true", "05 false", "04 true"]);
        assert!(folder.path().join("notes.txt").exists());
    }
}
