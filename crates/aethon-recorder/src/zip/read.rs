//! Reads ZIP files of untrusted origin.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::density::is_too_dense;
use super::name;
use super::{
    CENTRAL, CENTRAL_BYTES, DEFLATED, END, END_BYTES, LOCAL, LOCAL_BYTES, MAX_ENTRIES, MAX_ENTRY, MAX_FILE,
    MAX_UNPACKED, STORED,
};
use crate::error::{Error, Result};

/// Maximum length of the comment after the directory.
const MAX_COMMENT: usize = 0xffff;

/// Bytes allowed per directory entry: the fixed part, a name and some extra fields.
const DIRECTORY_ROW: u64 = 1024;

/// Flag of an encrypted entry.
const ENCRYPTED: u16 = 1;

/// The file type bits, and the types that are harmless.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// A ZIP whose directory has been validated. Nothing is unpacked yet.
#[derive(Debug)]
pub(crate) struct Archive {
    file: Arc<File>,
    entries: Vec<Entry>,
}

/// An entry of the directory.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: String,
    /// Its unpacked size in bytes, according to the directory.
    pub(crate) size: u64,
    method: u16,
    crc: u32,
    packed: u64,
    offset: u64,
    /// Offset of its content.
    content: u64,
}

impl Archive {
    /// Opens a file and validates its directory.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let unreadable = |error| Error::io("the recording cannot be read", error);
        // A symlink in the folder must not expose files elsewhere, and opening a pipe must not block.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let is_link = |error: &std::io::Error| error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        let file =
            File::options().read(true).custom_flags(flags).open(path).map_err(|error| match error {
                error if is_link(&error) => Error::bad("the file is a link"),
                error if error.kind() == std::io::ErrorKind::NotFound => {
                    Error::not_found("there is no such recording")
                }
                error => unreadable(error),
            })?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(Error::bad("it is not a file"));
        }
        if about.len() > MAX_FILE {
            return Err(Error::bad(format!("the file is larger than {} MiB", MAX_FILE >> 20)));
        }
        let (rows, start) = directory(&file, about.len())?;
        let mut entries = parse(&rows)?;
        locate(&file, &mut entries, start)?;
        Ok(Self { file: Arc::new(file), entries })
    }

    /// Returns all entries in the order of the directory.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry of this name.
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Returns a reader that unpacks an entry. Reading fails if size or checksum differ from the directory.
    pub(crate) fn read(&self, entry: &Entry) -> impl Read + use<> {
        let packed = Section { file: self.file.clone(), at: entry.content, left: entry.packed };
        let content: Box<dyn Read + Send> = match entry.method {
            STORED => Box::new(packed),
            _ => Box::new(DeflateDecoder::new(BufReader::new(packed))),
        };
        Checked { content, left: entry.size, crc: Crc::new(), expected: entry.crc, name: entry.name.clone() }
    }

    /// Unpacks an entry of at most `most` bytes into memory.
    pub(crate) fn whole(&self, entry: &Entry, most: u64) -> Result<Vec<u8>> {
        if entry.size > most {
            return Err(Error::bad(format!("{:?} is larger than {} MiB", entry.name, most >> 20)));
        }
        let mut content = Vec::new();
        self.read(entry).read_to_end(&mut content).map_err(unpacking)?;
        Ok(content)
    }

    /// Returns the file, positioned at its start.
    pub(crate) fn into_file(self) -> std::io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

/// Converts an I/O error while unpacking.
pub(crate) fn unpacking(error: std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match error.kind() {
        InvalidData | InvalidInput | UnexpectedEof => {
            Error::bad(format!("an entry cannot be unpacked: {error}"))
        }
        _ => Error::io("the recording cannot be read", error),
    }
}

/// Returns the directory and its offset.
fn directory(file: &File, size: u64) -> Result<(Vec<u8>, u64)> {
    let no_zip = || Error::bad("it is not a ZIP file, or it was cut off");
    let tail_bytes = size.min((END_BYTES + MAX_COMMENT) as u64);
    let tail = exactly(file, size - tail_bytes, tail_bytes)?;
    let signature = END.to_le_bytes();
    let ends_here = |at: &usize| {
        let comment = tail.get(at + 20..at + 22).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        comment.is_some_and(|comment| at + END_BYTES + usize::from(comment) == tail.len())
    };
    let ends = tail.windows(4).enumerate().rev().filter(|(_, window)| *window == signature).map(|(at, _)| at);
    let end = ends.into_iter().find(ends_here).ok_or_else(no_zip)?;
    let mut fields = Fields(tail.get(end + 4..end + END_BYTES).ok_or_else(no_zip)?);
    let (disk, first_disk, here, all) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
    let (bytes, start) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    if disk != 0 || first_disk != 0 || here != all {
        return Err(Error::bad("it is a part of a ZIP file in several volumes"));
    }
    if all == u16::MAX || bytes == u64::from(u32::MAX) || start == u64::from(u32::MAX) {
        return Err(Error::bad("it is a ZIP64 file, and recordings are none"));
    }
    if usize::from(all) > MAX_ENTRIES {
        return Err(Error::bad(format!("it has {all} entries; a recording has at most {MAX_ENTRIES}")));
    }
    let at_end = size - tail_bytes + end as u64;
    if start + bytes != at_end || bytes > u64::from(all) * DIRECTORY_ROW {
        return Err(Error::bad("its directory is not where it says, or not as large"));
    }
    let rows = exactly(file, start, bytes)?;
    let found = count(&rows)?;
    if found != usize::from(all) {
        return Err(Error::bad(format!("its directory has {found} entries and says {all}")));
    }
    Ok((rows, start))
}

/// Counts the entries of a directory.
fn count(rows: &[u8]) -> Result<usize> {
    let (mut rest, mut rows) = (rows, 0);
    while !rest.is_empty() {
        rest = row(rest)?.1;
        rows += 1;
    }
    Ok(rows)
}

fn parse(rows: &[u8]) -> Result<Vec<Entry>> {
    let (mut rest, mut entries, mut unpacked) = (rows, Vec::new(), 0_u64);
    let mut names = std::collections::BTreeSet::new();
    while !rest.is_empty() {
        let (entry, left) = row(rest)?;
        rest = left;
        unpacked = unpacked.saturating_add(entry.size);
        let name_shown = shown(&entry.name);
        // On case-insensitive file systems two such names are one.
        if !names.insert(entry.name.to_lowercase()) {
            return Err(Error::bad(format!("the name {name_shown} stands in it twice")));
        }
        if entry.size > MAX_ENTRY || unpacked > MAX_UNPACKED {
            return Err(Error::bad(format!("{name_shown} would be too large unpacked")));
        }
        if is_too_dense(entry.size, entry.packed) {
            return Err(Error::bad(format!(
                "{name_shown} would be {} times larger unpacked, which is what bombs are",
                entry.size / entry.packed.max(1)
            )));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Parses one directory entry and returns the rest.
fn row(rows: &[u8]) -> Result<(Entry, &[u8])> {
    let torn = || Error::bad("its directory is damaged");
    let mut fields = Fields(rows.get(..CENTRAL_BYTES).ok_or_else(torn)?);
    if fields.u32()? != CENTRAL {
        return Err(torn());
    }
    let (_made_by, _needs, flags, method) = (fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?);
    let (_time, crc) = (fields.u32()?, fields.u32()?);
    let (packed, size) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let [name_bytes, extra, comment] = [fields.u16()?, fields.u16()?, fields.u16()?].map(usize::from);
    let (disk, _text, attributes, offset) = (fields.u16()?, fields.u16()?, fields.u32()?, fields.u32()?);
    let name = rows.get(CENTRAL_BYTES..CENTRAL_BYTES + name_bytes).ok_or_else(torn)?;
    let rest = rows.get(CENTRAL_BYTES + name_bytes + extra + comment..).ok_or_else(torn)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::bad("the name of an entry is not UTF-8"))?;
    let name_shown = shown(name);
    if let Some(fault) = name::fault(name) {
        return Err(Error::bad(format!("the name {name_shown} {fault}")));
    }
    let kind = attributes >> 16 & KIND;
    if !matches!(kind, 0 | REGULAR | FOLDER) {
        return Err(Error::bad(format!("{name_shown} is a link or a device")));
    }
    if flags & ENCRYPTED != 0 {
        return Err(Error::bad(format!("{name_shown} is encrypted")));
    }
    if !matches!(method, STORED | DEFLATED) {
        return Err(Error::bad(format!("{name_shown} is packed in a way that is not known here")));
    }
    if disk != 0 || (method == STORED && packed != size) {
        return Err(torn());
    }
    let entry =
        Entry { name: name.to_owned(), size, method, crc, packed, offset: u64::from(offset), content: 0 };
    Ok((entry, rest))
}

/// Locates the contents and makes sure that no two of them overlap.
fn locate(file: &File, entries: &mut [Entry], directory: u64) -> Result<()> {
    for entry in &mut *entries {
        let name_shown = shown(&entry.name);
        let astray = || Error::bad(format!("{name_shown} is not where the directory says"));
        if entry.offset + LOCAL_BYTES > directory {
            return Err(astray());
        }
        let head = exactly(file, entry.offset, LOCAL_BYTES)?;
        let mut fields = Fields(&head);
        let signature = fields.u32()?;
        let (_needs, flags, method) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let (_time, _crc, _packed, _size) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
        let (name_bytes, extra) = (u64::from(fields.u16()?), u64::from(fields.u16()?));
        entry.content = entry.offset + LOCAL_BYTES + name_bytes + extra;
        if signature != LOCAL || entry.content + entry.packed > directory {
            return Err(astray());
        }
        let name = exactly(file, entry.offset + LOCAL_BYTES, name_bytes)?;
        if name != entry.name.as_bytes() || method != entry.method || flags & ENCRYPTED != 0 {
            return Err(Error::bad(format!("{name_shown} is called something else in another place")));
        }
    }
    let mut ranges: Vec<(u64, u64)> =
        entries.iter().map(|entry| (entry.offset, entry.content + entry.packed)).collect();
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return Err(Error::bad("two of its entries lie over each other"));
    }
    Ok(())
}

fn exactly(file: &File, at: u64, bytes: u64) -> Result<Vec<u8>> {
    // Callers request only ranges inside the file, whose size is limited.
    let mut content = vec![0; usize::try_from(bytes).map_err(|_| Error::bad("it is too large"))?];
    file.read_exact_at(&mut content, at).map_err(unpacking)?;
    Ok(content)
}

/// Formats a name for an error message.
fn shown(name: &str) -> String {
    format!("{:?}", name.chars().take(80).collect::<String>())
}

/// Reads consecutive numbers.
struct Fields<'b>(&'b [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) =
            self.0.split_first_chunk().ok_or_else(|| Error::bad("its directory is damaged"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }
}

/// A section of a file, read without moving the file's cursor.
struct Section {
    file: Arc<File>,
    at: u64,
    left: u64,
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Verifies size and checksum against the directory while reading.
struct Checked {
    content: Box<dyn Read + Send>,
    left: u64,
    crc: Crc,
    expected: u32,
    name: String,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let wrong = |what: &str| {
            let message = format!("{} {what} than the directory says", shown(&self.name));
            std::io::Error::new(std::io::ErrorKind::InvalidData, message)
        };
        let read = self.content.read(into)?;
        if read as u64 > self.left {
            return Err(wrong("has more bytes"));
        }
        if read == 0 && self.left > 0 {
            return Err(wrong("has fewer bytes"));
        }
        self.left -= read as u64;
        self.crc.update(&into[..read]);
        if read == 0 && self.crc.sum() != self.expected {
            return Err(wrong("has another checksum"));
        }
        Ok(read)
    }
}
