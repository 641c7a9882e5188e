//! Whether a backup fits on its disk. Strangers can make files in the workspace, and must not fill the disk of the backups
//! with them, nor leave the owner without a word about which files are to blame.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::place::{self, Space};
use crate::error::{Error, Result};

/// How many files an error names.
const NAMED: usize = 3;

/// How much is written between two looks at the disk.
const STEP: u64 = 16 << 20;

/// How much a backup takes at most, and of which files.
#[derive(Debug, Default)]
pub(super) struct Room {
    needed: u64,
    /// The largest files, the largest first.
    largest: Vec<(u64, PathBuf)>,
    /// How much was read since the last look at the disk.
    unseen: u64,
}

impl Room {
    /// Adds a file, or all files below a folder. What cannot be read is not in the backup either.
    pub(super) fn add(&mut self, path: &Path) {
        // The top may be a link, as for the backup itself; nothing below it is followed.
        let mut waiting = vec![fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())];
        while let Some(path) = waiting.pop() {
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten();
                waiting.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            } else if about.is_file() {
                self.add_file(about.len().min(about.blocks().saturating_mul(512)), path);
            }
        }
    }

    fn add_file(&mut self, size: u64, path: PathBuf) {
        self.needed = self.needed.saturating_add(size);
        let at = self.largest.partition_point(|(other, _)| *other >= size);
        if at < NAMED {
            self.largest.insert(at, (size, path));
            self.largest.truncate(NAMED);
        }
    }

    /// Refuses to begin if the folder's disk lacks the room.
    pub(super) fn check(&self, folder: &Path) -> Result<()> {
        // A file system that cannot tell is taken at its word when it is full.
        place::space(folder).map_or(Ok(()), |space| self.judge(folder, space))
    }

    fn judge(&self, folder: &Path, space: Space) -> Result<()> {
        let wanted = self.needed.saturating_add(space.reserve());
        if space.free >= wanted {
            return Ok(());
        }
        let name = |(size, path): &(u64, PathBuf)| format!("{} ({} MiB)", path.display(), mib(*size));
        let largest: Vec<String> = self.largest.iter().map(name).collect();
        Err(Error::refused(format!(
            "a backup may need {} MiB in {}, {} MiB of which stay free, and {} MiB are free: free some space, or choose another \
             folder (backup.dir); the largest files are {}",
            mib(wanted),
            folder.display(),
            mib(space.reserve()),
            space.free >> 20,
            largest.join(", "),
        )))
    }

    /// Looks at the disk now and then while the backup is written: files grow, and others write there as well.
    pub(super) fn keep_reserve(&mut self, read: u64, folder: &Path) -> io::Result<()> {
        self.unseen += read;
        if self.unseen < STEP {
            return Ok(());
        }
        self.unseen = 0;
        match place::space(folder) {
            Some(space) if space.free < space.reserve() => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backup_that_does_not_fit_names_the_largest_files() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, size: usize| fs::write(home.path().join(name), vec![1; size]).unwrap();
        fs::create_dir(home.path().join("deep")).unwrap();
        ["small", "deep/large", "middle", "tiny"]
            .into_iter()
            .zip([2 << 20, 9 << 20, 4 << 20, 9])
            .for_each(|(name, size)| write(name, size));
        fs::File::create(home.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        let mut room = Room::default();
        room.add(home.path());
        let disk = |free: u64| Space { free: free << 20, all: 100 << 20 };
        let refusal = room.judge(home.path(), disk(20)).unwrap_err().to_string();
        assert!(refusal.contains("26 MiB") && refusal.contains("20 MiB are free"), "{refusal}");
        let names = ["deep/large (9 MiB)", "middle (4 MiB)", "small (2 MiB)"]
            .map(|name| refusal.find(name).expect(name));
        assert!(names.is_sorted() && !refusal.contains("tiny") && !refusal.contains("sparse"), "{refusal}");
        room.judge(home.path(), disk(26)).unwrap();
    }
}
