//! The limits of the journal. What is too old, or for which there is no room, goes a whole turn at a time, so that of the turns that
//! are left every change can be taken back.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aethon_core::file_changes::CHANGE_DAYS;

use super::record::{Act, RecordName};

/// How much is kept at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most bytes of one file.
    pub(super) file: usize,
    /// The most bytes of all files. Beyond them, changes are recorded without the earlier content.
    pub(super) bytes: u64,
    /// The most records. Further changes are not recorded.
    pub(super) records: usize,
}

impl Limits {
    /// For the changes of a turn.
    const TURN: Self = Self { file: 16 << 20, bytes: 64 << 20, records: 1000 };
    /// For the files that the owner puts back at once. What is not kept is not put back, so a file may be as large as tools make one.
    const PUT_BACK: Self = Self { file: 64 << 20, bytes: 128 << 20, records: 1000 };

    /// The limits of those who change files so.
    pub(super) fn of(act: &Act) -> Self {
        match act {
            Act::Change => Self::TURN,
            Act::PutBack { .. } => Self::PUT_BACK,
        }
    }
}

/// The most bytes that any record keeps.
pub(super) const MAX_KEPT: usize = Limits::PUT_BACK.file;
/// The most bytes of all records.
const MAX_BYTES: u64 = 256 << 20;
/// The most records.
const MAX_RECORDS: usize = 4000;
/// The maximum age.
const KEEP: Duration = Duration::from_secs(CHANGE_DAYS * 24 * 3600);

/// A file of the folder.
pub(super) struct Entry {
    pub(super) name: RecordName,
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
}

/// What the records of a turn take, or all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) bytes: u64,
    pub(super) records: usize,
}

impl Used {
    /// What the records take for which this holds.
    pub(super) fn of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        entries.into_iter().fold(Self::default(), |used, entry| Self {
            bytes: used.bytes + entry.bytes,
            records: used.records + 1,
        })
    }

    fn with(self, more: Self) -> Self {
        Self { bytes: self.bytes + more.bytes, records: self.records + more.records }
    }

    fn fits(self, room: Self) -> bool {
        self.bytes <= room.bytes && self.records <= room.records
    }
}

/// When each record will be too old.
pub(super) fn end(since: SystemTime) -> SystemTime {
    since + KEEP
}

/// Returns the records that have to go. Strangers have a quarter of the room, and the owner what they leave.
pub(super) fn surplus(entries: Vec<Entry>, now: SystemTime) -> Vec<RecordName> {
    let (strangers, owners): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.name.is_strangers());
    let all = Used { bytes: MAX_BYTES, records: MAX_RECORDS };
    let quarter = Used { bytes: MAX_BYTES / 4, records: MAX_RECORDS / 4 };
    let (mut surplus, taken) = surplus_of(strangers, quarter, now);
    let left = Used { bytes: all.bytes - taken.bytes, records: all.records - taken.records };
    surplus.extend(surplus_of(owners, left, now).0);
    surplus
}

/// Returns the records for which there is no room, and what the others take.
fn surplus_of(entries: Vec<Entry>, room: Used, now: SystemTime) -> (Vec<RecordName>, Used) {
    let mut turns: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        turns.entry(entry.name.turn().to_owned()).or_default().push(entry);
    }
    let newest = |turn: &Vec<Entry>| turn.iter().map(|entry| entry.modified).max();
    let mut turns: Vec<Vec<Entry>> = turns.into_values().collect();
    turns.sort_by_key(|turn| std::cmp::Reverse(newest(turn)));
    let (mut taken, mut surplus) = (Used::default(), Vec::new());
    for turn in turns {
        let with_it = taken.with(Used::of(&turn));
        let is_old = newest(&turn).is_some_and(|time| end(time) < now);
        if is_old || !with_it.fits(room) {
            surplus.extend(turn.into_iter().map(|entry| entry.name));
        } else {
            taken = with_it;
        }
    }
    (surplus, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn entry(number: usize, turn: usize, is_strangers: bool, age: Duration, bytes: u64) -> Entry {
        let ending = if is_strangers { ".stranger.change" } else { ".change" };
        let name = format!("{number:032x}-{:016x}-{turn:016x}{ending}", 1);
        let modified = now() - age;
        Entry { name: RecordName::parse(&name).unwrap(), modified, bytes }
    }

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + 10_000 * HOUR
    }

    #[test]
    fn old_turns_go_as_a_whole() {
        let month = HOUR * 24 * u32::try_from(CHANGE_DAYS).unwrap();
        let entries = vec![
            entry(1, 1, false, month + HOUR, 1),
            entry(2, 2, false, month + HOUR, 1),
            entry(3, 2, false, month - HOUR, 1),
        ];
        let gone = surplus(entries, now());
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].id(), format!("{:032x}", 1), "the other one belongs to a turn that is not old");
    }

    #[test]
    fn turns_without_room_go_the_oldest_first() {
        let entries =
            (0..6).map(|turn| entry(turn, turn, false, HOUR * u32::try_from(turn).unwrap(), MAX_BYTES / 4));
        let gone = surplus(entries.collect(), now());
        let ids: Vec<&str> = gone.iter().map(RecordName::id).collect();
        assert_eq!(ids, [format!("{:032x}", 4), format!("{:032x}", 5)]);
        let many = (0..MAX_RECORDS + 3).map(|turn| entry(turn, turn, false, HOUR, 1)).collect();
        assert_eq!(surplus(many, now()).len(), 3);
    }

    #[test]
    fn strangers_leave_three_quarters_to_the_owner() {
        let mut entries: Vec<Entry> =
            (0..10).map(|turn| entry(turn, turn, true, HOUR, MAX_BYTES / 10)).collect();
        entries.extend((10..13).map(|turn| entry(turn, turn, false, HOUR * 9, MAX_BYTES / 4)));
        let gone = surplus(entries, now());
        assert_eq!(gone.len(), 8);
        assert!(gone.iter().all(RecordName::is_strangers));
    }
}
