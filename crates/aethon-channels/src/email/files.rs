//! The attachments of recent mails, cached so that most are not read twice. Later, a file is found in the mailbox by
//! its place.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::parts::File;
use crate::talk::RemoteFile;

/// Where a file is: the UIDVALIDITY, the UID of its mail, and its index in the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FilePlace {
    pub(super) validity: u32,
    pub(super) uid: u32,
    pub(super) number: usize,
}

impl FilePlace {
    fn handle(self) -> String {
        format!("{}:{}:{}", self.validity, self.uid, self.number)
    }

    /// Parses a handle.
    pub(super) fn parse(handle: &str) -> Option<Self> {
        let (validity, rest) = handle.split_once(':')?;
        let (uid, number) = rest.split_once(':')?;
        Some(Self { validity: validity.parse().ok()?, uid: uid.parse().ok()?, number: number.parse().ok()? })
    }
}

/// The cached files.
pub(super) struct Files {
    kept: Mutex<BTreeMap<FilePlace, Vec<u8>>>,
    /// The maximum total size in bytes.
    most: usize,
}

impl Files {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// Offers the files of a mail and caches them.
    pub(super) fn offer(&self, (validity, uid): (u32, u32), files: Vec<File>) -> Vec<RemoteFile> {
        let mut kept = self.lock();
        let added: usize = files.iter().map(|file| file.bytes.len()).sum();
        if kept.values().map(Vec::len).sum::<usize>().saturating_add(added) > self.most {
            kept.clear();
        }
        let offer = |(number, file): (usize, File)| {
            let place = FilePlace { validity, uid, number };
            let size = u64::try_from(file.bytes.len()).unwrap_or(u64::MAX);
            kept.insert(place, file.bytes);
            RemoteFile {
                handle: place.handle(),
                name: file.name,
                mime: file.mime,
                size,
                seconds: None,
                is_quoted: file.is_quoted,
                is_earlier: false,
            }
        };
        files.into_iter().enumerate().map(offer).collect()
    }

    /// Takes a file from the cache.
    pub(super) fn take(&self, place: FilePlace) -> Option<Vec<u8>> {
        self.lock().remove(&place)
    }

    /// Empties the cache.
    pub(super) fn let_go(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<FilePlace, Vec<u8>>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_at_hand_once_and_within_bounds() {
        let files = Files::new(10);
        let file = |length| File {
            name: "a".into(),
            mime: "text/plain".into(),
            bytes: vec![0; length],
            is_quoted: false,
        };
        let first = files.offer((7, 1), vec![file(4), file(4)]);
        let places: Vec<FilePlace> =
            first.iter().map(|offer| FilePlace::parse(&offer.handle).unwrap()).collect();
        assert_eq!(places[1], FilePlace { validity: 7, uid: 1, number: 1 });
        assert_eq!(files.take(places[0]).map(|bytes| bytes.len()), Some(4));
        assert_eq!(files.take(places[0]), None, "it was handed over");
        files.offer((7, 2), vec![file(7)]);
        assert_eq!(files.take(places[1]), None, "what comes later needs the room");
        files.let_go();
        assert_eq!(files.take(FilePlace { validity: 7, uid: 2, number: 0 }), None);
        for handle in ["", "7", "7:1", "7:1:x", "7:-1:0"] {
            assert_eq!(FilePlace::parse(handle), None, "{handle}");
        }
    }
}
