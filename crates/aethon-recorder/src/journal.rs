//! The journal of a running recording: an append-only file of lines, each with a checksum.
//!
//! A crash may tear the last line; everything before it is intact. The writer holds a lock on the journal, which the
//! system releases when the process dies, so that another process can tell an abandoned journal from a live one. The
//! file gets its name only once it is locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flate2::Crc;
use serde::Serialize;

use crate::names::{JOURNAL, ZIP};

/// Maximum size of a record in bytes; larger ones are not written.
pub(crate) const MAX_RECORD: usize = 48 << 20;

/// Bytes of a line besides its JSON: a checksum, a space, a letter, a space, and the line end.
const FRAME: usize = 8 + 1 + 1 + 1 + 1;

/// Highest number appended to a name that is already taken.
const MAX_NAMES: u32 = 999;

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Describes the recording; the first record.
    Head,
    /// An event.
    Event,
    /// A snapshot.
    Snapshot,
}

impl Kind {
    fn letter(self) -> u8 {
        match self {
            Self::Head => b'H',
            Self::Event => b'E',
            Self::Snapshot => b'S',
        }
    }

    fn of(letter: u8) -> Option<Self> {
        [Self::Head, Self::Event, Self::Snapshot].into_iter().find(|kind| kind.letter() == letter)
    }
}

/// A journal open for writing, under its lock.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    folder: PathBuf,
    stem: String,
    waiting: Vec<u8>,
    bytes: u64,
}

impl Journal {
    /// Creates a journal with this name, or with the first free number appended to it.
    pub(crate) fn create(folder: &Path, stem: &str) -> io::Result<Self> {
        let temporary = folder.join(format!(".{stem}{JOURNAL}.new-{}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).append(true).create_new(true).mode(0o600).open(&temporary)?;
        let named = private(&file).and_then(|()| {
            file.try_lock()?;
            (1..=MAX_NAMES)
                .find_map(|number| name(folder, &temporary, stem, number).transpose())
                .unwrap_or_else(|| {
                    Err(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "there are too many recordings of this name",
                    ))
                })
        });
        // Remove the temporary name: the journal now has its final name, or creating it failed.
        let _ = fs::remove_file(&temporary);
        Ok(Self { file, folder: folder.to_owned(), stem: named?, waiting: Vec::new(), bytes: 0 })
    }

    /// Takes over an abandoned journal; `None` if it is being written, or if it is gone.
    pub(crate) fn take_over(folder: &Path, stem: &str) -> io::Result<Option<Self>> {
        let Some(journal) = Self::open(folder, stem, File::options().append(true))? else { return Ok(None) };
        // Its writer may have finished it in between.
        let is_ours = !is_held(journal.file.try_lock())? && journal.file.metadata()?.nlink() > 0;
        Ok(is_ours.then_some(journal))
    }

    /// Opens a journal that is being written, to read its current records; `None` if it has no writer, or if it is gone.
    pub(crate) fn look_at(folder: &Path, stem: &str) -> io::Result<Option<Self>> {
        let Some(journal) = Self::open(folder, stem, &mut File::options())? else { return Ok(None) };
        Ok(is_held(journal.file.try_lock_shared())?.then_some(journal))
    }

    fn open(folder: &Path, stem: &str, options: &mut fs::OpenOptions) -> io::Result<Option<Self>> {
        let path = folder.join(format!("{stem}{JOURNAL}"));
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = match options.read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let bytes = file.metadata()?.len();
        Ok(Some(Self { file, folder: folder.to_owned(), stem: stem.to_owned(), waiting: Vec::new(), bytes }))
    }

    /// Returns its name, which the finished recording will share.
    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// Returns the path of the finished recording.
    pub(crate) fn zip(&self) -> PathBuf {
        self.folder.join(format!("{}{ZIP}", self.stem))
    }

    /// Returns its size in bytes, including buffered records.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Buffers a record, whose JSON must not contain line breaks; [`Self::flush`] writes it. Returns `false` if it is too
    /// large.
    pub(crate) fn append(&mut self, kind: Kind, record: &impl Serialize) -> serde_json::Result<bool> {
        let start = self.waiting.len();
        self.waiting.extend_from_slice(b"________ ");
        self.waiting.extend_from_slice(&[kind.letter(), b' ']);
        let written = serde_json::to_writer(&mut self.waiting, record);
        let json = &self.waiting[start + FRAME - 1..];
        if written.is_err() || json.len() > MAX_RECORD {
            self.waiting.truncate(start);
            return written.map(|()| false);
        }
        let sum = checksum(kind.letter(), json);
        // Writing to memory that is there does not fail.
        let _ = write!(&mut self.waiting[start..start + 8], "{sum:08x}");
        self.waiting.push(b'\n');
        self.bytes += (self.waiting.len() - start) as u64;
        Ok(true)
    }

    /// Writes the buffered records.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.file.write_all(&self.waiting)?;
            self.waiting.clear();
            self.waiting.shrink_to(1 << 20);
        }
        Ok(())
    }

    /// Returns the written records, up to the first damaged one.
    pub(crate) fn records(&self) -> Records<'_> {
        Records { lines: BufReader::with_capacity(64 << 10, Positioned { file: &self.file, at: 0 }) }
    }

    /// Removes the journal.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(self.folder.join(format!("{}{JOURNAL}", self.stem)))
    }
}

/// Iterates over the records of a journal.
pub(crate) struct Records<'j> {
    lines: BufReader<Positioned<'j>>,
}

impl Records<'_> {
    /// Returns the next record; `None` at the end and at the first damaged record.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Kind, Vec<u8>)>> {
        let mut line = Vec::new();
        let most = (MAX_RECORD + FRAME) as u64;
        Read::take(&mut self.lines, most).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') || line.len() < FRAME - 1 {
            return Ok(None);
        }
        let json = line.split_off(FRAME - 1);
        let (Some(kind), Ok(sum)) = (Kind::of(line[9]), std::str::from_utf8(&line[..8])) else {
            return Ok(None);
        };
        let is_whole = u32::from_str_radix(sum, 16).ok() == Some(checksum(kind.letter(), &json));
        Ok(is_whole.then_some((kind, json)))
    }
}

/// Returns whether a lock was refused because it is held.
fn is_held(tried: std::result::Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn checksum(letter: u8, json: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&[letter]);
    crc.update(json);
    crc.sum()
}

/// Gives a locked file its name; `None` if that is taken.
fn name(folder: &Path, temporary: &Path, stem: &str, number: u32) -> io::Result<Option<String>> {
    let stem = if number == 1 { stem.to_owned() } else { format!("{stem}.{number}") };
    if folder.join(format!("{stem}{ZIP}")).exists() {
        return Ok(None);
    }
    // Unlike a rename, a hard link never replaces an existing file.
    let journal = folder.join(format!("{stem}{JOURNAL}"));
    match fs::hard_link(temporary, &journal) {
        Ok(()) => Ok(Some(stem)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        // The file system has no hard links. Rename: two programs that start in the same millisecond are even less
        // likely.
        Err(_) if !journal.exists() => fs::rename(temporary, &journal).map(|()| Some(stem)),
        Err(error) => Err(error),
    }
}

/// Makes the file accessible to its owner only, whatever the umask.
pub(crate) fn private(file: &File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

/// Reads a file from its start, independently of its cursor.
struct Positioned<'f> {
    file: &'f File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_journal_has_one_writer_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), "a").unwrap();
        assert!(journal.append(Kind::Head, &json!({})).unwrap());
        let broken = std::collections::BTreeMap::from([((), "a key that JSON cannot have")]);
        assert!(journal.append(Kind::Event, &broken).is_err(), "and nothing of it stays");
        assert!(journal.append(Kind::Event, &json!({"x": 1})).unwrap());
        journal.flush().unwrap();
        assert!(Journal::take_over(folder.path(), "a").unwrap().is_none(), "it is being written");
        assert_eq!(Journal::create(folder.path(), "a").unwrap().stem(), "a.2");
        drop(journal);
        let left = Journal::take_over(folder.path(), "a").unwrap().unwrap();
        let mut records = left.records();
        assert_eq!(records.next().unwrap(), Some((Kind::Head, b"{}".to_vec())));
        assert_eq!(records.next().unwrap(), Some((Kind::Event, b"{\"x\":1}".to_vec())));
        assert_eq!(records.next().unwrap(), None);
        let mode = left.file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        left.remove().unwrap();
        assert!(Journal::take_over(folder.path(), "a").unwrap().is_none());
        let hidden = fs::read_dir(folder.path()).unwrap();
        assert!(hidden.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with('.')));
    }

    #[test]
    fn a_journal_torn_anywhere_is_read_up_to_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path(), "a").unwrap();
        let records = [json!({}), json!({"n": 1}), json!({"text": "h\u{e4}"}), json!({"n": 22_222})];
        let mut ends = vec![0];
        for record in records {
            assert!(journal.append(Kind::Event, &record).unwrap());
            ends.push(journal.bytes());
        }
        journal.flush().unwrap();
        let path = folder.path().join("a.journal");
        let whole = fs::read(&path).unwrap();
        let count = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let mut read = journal.records();
            std::iter::from_fn(|| read.next().unwrap()).count()
        };
        for cut in 0..=whole.len() {
            let expected = ends.iter().filter(|&&end| end > 0 && end <= cut as u64).count();
            assert_eq!(count(&whole[..cut]), expected, "cut at {cut}");
            // A power failure can leave the right length with zeros as content.
            let mut zeros = whole[..cut].to_vec();
            zeros.resize(whole.len(), 0);
            assert_eq!(count(&zeros), expected, "zeros from {cut}");
        }
    }
}
