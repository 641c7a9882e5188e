//! Diagnoses a home in which nothing can be stored. A server that runs reports this itself; without one, only the disk tells.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};

use crate::finding::Finding;

/// Below this nothing can be stored: a transaction and its log need some pages.
const MIN_SPACE: u64 = 1 << 20;
/// Below this the next message or the copy of an upgrade may not fit.
const LITTLE_SPACE: u64 = 64 << 20;

/// Reports a home in which nothing can be stored, or hardly anything: it is read-only, or its disk is full.
pub(crate) fn cannot_store(home: &Path) -> Option<Finding> {
    if let Err(error) = access(home, Access::WRITE_OK) {
        let message = format!("{} cannot be written: {}", home.display(), io::Error::from(error));
        let fix = "let this user write there, mount its disk writable, or choose another home with --home or AETHON_HOME";
        return Some(Finding::broken("home", message, fix));
    }
    let disk = statvfs(home).ok()?;
    space_finding(home, disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Reports a disk with so few free bytes.
fn space_finding(home: &Path, free: u64) -> Option<Finding> {
    let message = format!("the disk of {} has only {} KiB left", home.display(), free >> 10);
    let fix = "free some space on it, or move the home to another disk";
    match free {
        0..MIN_SPACE => Some(Finding::broken("home", message, fix)),
        MIN_SPACE..LITTLE_SPACE => Some(Finding::warning("home", message, fix)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Health;

    #[test]
    fn a_full_disk_is_broken_and_a_nearly_full_one_is_a_warning() {
        let health = |free| space_finding(Path::new("/home"), free).map(|finding| finding.health);
        assert_eq!(health(0), Some(Health::Broken));
        assert_eq!(health(MIN_SPACE - 1), Some(Health::Broken));
        assert_eq!(health(MIN_SPACE), Some(Health::Warning));
        assert_eq!(health(LITTLE_SPACE), None);
    }

    #[test]
    fn a_home_that_cannot_be_written_is_broken_and_a_usual_one_is_fine() {
        let missing = cannot_store(Path::new("/no/such/folder")).unwrap();
        assert_eq!((missing.health, missing.area), (Health::Broken, "home"));
        assert!(missing.message.starts_with("/no/such/folder cannot be written: "), "{}", missing.message);
        let home = tempfile::tempdir().unwrap();
        assert!(cannot_store(home.path()).is_none_or(|finding| finding.message.contains("KiB left")));
    }
}
