//! A disk that fails on demand, and its content after a loss of power.
//!
//! Writes reach the file at once, as they reach the cache of a system. What each file had at its last sync is remembered, so
//! that a loss of power can take back any sector that was written since, or leave half of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The unit that the hardware writes at once, or in part.
const SECTOR: usize = 512;

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Write,
    Sync,
    Truncate,
    Read,
}

impl Operation {
    pub const ALL: [Self; 4] = [Self::Write, Self::Sync, Self::Truncate, Self::Read];
}

/// What happens at the operation that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and the next one works.
    Once,
    /// Half of it is written and then it fails; the next one works.
    Torn,
    /// The power goes. This chooses which of the unsynced sectors got through.
    PowerLoss(u64),
}

/// What becomes of an operation.
pub enum Verdict {
    Goes,
    Fails,
    /// This many bytes of it are written.
    Tears(usize),
}

#[derive(Default)]
pub struct Disk {
    folder: PathBuf,
    plan: Option<(Operation, u64, Fault)>,
    counts: BTreeMap<Operation, u64>,
    /// What each file had when it was synced last.
    synced: BTreeMap<PathBuf, Vec<u8>>,
    is_out: bool,
    has_failed: bool,
}

static DISK: Mutex<Option<Disk>> = Mutex::new(None);

fn disk() -> MutexGuard<'static, Option<Disk>> {
    DISK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on the files of this folder are on a disk with this plan.
pub fn plug_in(folder: &Path, plan: Option<(Operation, u64, Fault)>) {
    let mut synced = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        synced.insert(path.clone(), fs::read(path).unwrap());
    }
    *disk() = Some(Disk { folder: folder.to_owned(), plan, synced, ..Disk::default() });
}

/// Ends that, and returns how often each operation was requested, and whether the fault occurred. After a loss of power the files
/// are given their content after it; no connection may have them open.
pub fn unplug() -> (BTreeMap<Operation, u64>, bool) {
    let disk = disk().take().unwrap();
    if let (true, Some((_, _, Fault::PowerLoss(seed)))) = (disk.is_out, disk.plan) {
        disk.lose_what_was_not_synced(seed);
    }
    (disk.counts, disk.has_failed)
}

/// Whether the fault has come.
pub fn has_failed() -> bool {
    disk().as_ref().is_some_and(|disk| disk.has_failed)
}

/// Whether the power is gone.
pub fn is_out() -> bool {
    disk().as_ref().is_some_and(|disk| disk.is_out)
}

/// What becomes of an operation on so many bytes of a file.
pub fn ask(operation: Operation, path: &Path, bytes: usize) -> Verdict {
    let mut disk = disk();
    let Some(disk) = disk.as_mut().filter(|disk| path.starts_with(&disk.folder)) else {
        return Verdict::Goes;
    };
    if disk.is_out {
        return Verdict::Fails;
    }
    let count = disk.counts.entry(operation).or_default();
    *count += 1;
    let Some((planned, number, fault)) = disk.plan else { return Verdict::Goes };
    if planned != operation || *count != number {
        return Verdict::Goes;
    }
    disk.has_failed = true;
    match fault {
        Fault::Once => Verdict::Fails,
        Fault::Torn => Verdict::Tears(bytes / 2),
        Fault::PowerLoss(_) => {
            disk.is_out = true;
            Verdict::Fails
        }
    }
}

/// A file is on the disk as it is now.
pub fn synced(path: &Path) {
    let mut disk = disk();
    let Some(disk) = disk.as_mut().filter(|disk| path.starts_with(&disk.folder)) else { return };
    disk.synced.insert(path.to_owned(), fs::read(path).unwrap_or_default());
}

/// A file was removed.
pub fn removed(path: &Path) {
    if let Some(disk) = disk().as_mut() {
        disk.synced.remove(path);
    }
}

impl Disk {
    fn lose_what_was_not_synced(&self, seed: u64) {
        let mut state = seed;
        let mut chance = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for entry in fs::read_dir(&self.folder).unwrap() {
            let path = entry.unwrap().path();
            // Shared memory does not outlast the power.
            if path.to_string_lossy().ends_with("-shm") {
                fs::remove_file(path).unwrap();
                continue;
            }
            let (new, old) = (fs::read(&path).unwrap(), self.synced.get(&path).cloned().unwrap_or_default());
            if new == old {
                continue;
            }
            let mut left = if chance().is_multiple_of(2) { new.clone() } else { old.clone() };
            for at in (0..left.len()).step_by(SECTOR) {
                let end = (at + SECTOR).min(left.len());
                let middle = at + (end - at) / 2;
                let (first, second) = match chance() % 3 {
                    0 => (&new, &new),
                    1 => (&old, &old),
                    _ => (&new, &old),
                };
                for (place, from) in
                    (at..middle).map(|at| (at, first)).chain((middle..end).map(|at| (at, second)))
                {
                    left[place] = from.get(place).copied().unwrap_or_default();
                }
            }
            fs::write(&path, left).unwrap();
        }
    }
}
