//! Reads an untrusted ZIP.
//!
//! The ZIP crate recovers what it can: of two entries with one name the later wins, overlapping entries are read, sizes are
//! believed. [`Archive::open`] refuses a file as soon as anything about it is wrong, before content is read, and
//! [`Archive::read`] never yields more than the directory says. Nothing is ever written to a disk here.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};

use jiff::Timestamp;
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Result, is_about_content};
use crate::limits::Limits;
use crate::names;
use crate::write::from_zip;

/// The file type bits of a mode, and the types that are harmless.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// The owner's right to execute.
const EXECUTABLE: u32 = 0o100;

/// The end record, its signature, the longest comment behind it, and the locator of the record for large files before it.
const END: &[u8; 4] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const MAX_COMMENT: u64 = 0xffff;
const LARGE_LOCATOR: &[u8; 4] = b"PK\x06\x07";
const LARGE_LOCATOR_BYTES: usize = 20;
const LARGE_END: &[u8; 4] = b"PK\x06\x06";

/// A ZIP whose directory was checked.
#[derive(Debug)]
pub struct Archive<Source> {
    zip: ZipArchive<Source>,
    entries: Vec<Entry>,
}

/// An entry of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; that of a folder without the trailing slash.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its unpacked size in bytes.
    pub size: u64,
    /// Whether its owner may execute it.
    pub is_executable: bool,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
}

/// The kind of an entry. Everything else is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

impl<Source: Read + Seek> Archive<Source> {
    /// Reads and checks the directory.
    pub fn open(mut source: Source, limits: Limits) -> Result<Self> {
        let size = source.seek(SeekFrom::End(0))?;
        // Before the crate reads the directory into memory.
        let claimed = count(&mut source, size)?;
        if claimed > limits.max_entries {
            return Err(Error::bad(format!("it has more than {} entries", limits.max_entries)));
        }
        source.rewind()?;
        let mut zip = ZipArchive::new(source)?;
        if zip.offset() != 0 {
            return Err(Error::bad("something else stands before it in the file"));
        }
        if zip.has_duplicate_names() {
            return Err(Error::bad("two of its entries have the same name"));
        }
        if zip.len() as u64 != claimed {
            return Err(Error::bad(format!("it claims {claimed} entries and has {}", zip.len())));
        }
        if zip.has_overlapping_entries()? {
            return Err(Error::bad("its entries overlap"));
        }
        zip.validate_header_consistency()?;
        let mut entries = Vec::with_capacity(zip.len());
        for index in 0..zip.len() {
            entries.push(entry(&zip, index, &limits)?);
        }
        let unpacked = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
        if unpacked > limits.max_bytes {
            return Err(Error::bad(format!("it is larger than {} MiB unpacked", limits.max_bytes >> 20)));
        }
        if limits.is_too_dense(unpacked, size) {
            return Err(Error::bad(format!(
                "it would unpack {size} bytes to {unpacked}, which no honest archive does"
            )));
        }
        check_paths(&entries)?;
        Ok(Self { zip, entries })
    }

    /// Returns the entries in the order of the directory.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the position of the file with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.kind == Kind::File && entry.name == name)
    }

    /// Returns the source, at an unspecified position.
    pub fn into_source(self) -> Source {
        self.zip.into_inner()
    }

    /// Reads the file at this position. The reader fails if the content is longer or shorter than the directory says, or has
    /// another checksum.
    pub fn read(&mut self, position: usize) -> Result<impl Read + '_> {
        let expected = self.entries.get(position).map_or(0, |entry| entry.size);
        let content = self.zip.by_index(position)?;
        Ok(Exact { content, left: expected })
    }

    /// Reads the whole file at this position, which must not be larger than `max` bytes.
    pub fn read_whole(&mut self, position: usize, max: u64) -> Result<Vec<u8>> {
        let size = self.entries.get(position).map_or(0, |entry| entry.size);
        if size > max {
            let name = self.entries.get(position).map_or("", |entry| &entry.name);
            return Err(Error::bad(format!("its {name} is larger than {max} bytes")));
        }
        let mut content = Vec::new();
        self.read(position)?.read_to_end(&mut content).map_err(unpacking)?;
        Ok(content)
    }
}

/// Classifies a failure while an entry is read.
pub fn unpacking(error: io::Error) -> Error {
    if is_about_content(&error) { Error::bad(format!("it is damaged: {error}")) } else { error.into() }
}

/// Returns how many entries a file claims to have; an error if it does not end like a ZIP. Reads its end only.
pub fn count_entries(mut source: impl Read + Seek) -> Result<u64> {
    let size = source.seek(SeekFrom::End(0))?;
    count(&mut source, size)
}

fn count(source: &mut (impl Read + Seek), size: u64) -> Result<u64> {
    let none = || Error::bad("it is not a ZIP file, or its end is missing");
    let span = size.min(MAX_COMMENT + (END_BYTES + LARGE_LOCATOR_BYTES) as u64);
    source.seek(SeekFrom::Start(size - span))?;
    let mut tail = Vec::new();
    source.by_ref().take(span).read_to_end(&mut tail)?;
    // A comment may contain the signature; the real record ends with the file.
    let ends_the_file = |(at, window): &(usize, &[u8])| {
        let comment = usize::from(u16::from_le_bytes([window[20], window[21]]));
        window.starts_with(END) && at + END_BYTES + comment == tail.len()
    };
    let (at, _) = tail.windows(END_BYTES).enumerate().rfind(ends_the_file).ok_or_else(none)?;
    let small = u64::from(u16::from_le_bytes([tail[at + 10], tail[at + 11]]));
    let locator = at.checked_sub(LARGE_LOCATOR_BYTES).map(|from| &tail[from..at]);
    let Some(locator) = locator.filter(|bytes| bytes.starts_with(LARGE_LOCATOR)) else { return Ok(small) };
    let mut offset = [0; 8];
    offset.copy_from_slice(&locator[8..16]);
    let offset = u64::from_le_bytes(offset);
    if offset >= size {
        return Err(none());
    }
    let mut record = [0; 40];
    source.seek(SeekFrom::Start(offset))?;
    source.read_exact(&mut record).map_err(|_| none())?;
    if !record.starts_with(LARGE_END) {
        return Err(none());
    }
    let mut entries = [0; 8];
    entries.copy_from_slice(&record[32..40]);
    let large = u64::from_le_bytes(entries);
    Ok(if small == u64::from(u16::MAX) { large } else { small.max(large) })
}

fn entry<Source: Read + Seek>(zip: &ZipArchive<Source>, index: usize, limits: &Limits) -> Result<Entry> {
    let about = zip.by_index_data(index)?;
    let name = std::str::from_utf8(about.name_raw())
        .map_err(|_| Error::bad("the name of an entry is not UTF-8"))?
        .to_owned();
    let refused = |what: &str| Error::bad(format!("the entry {name:?} {what}"));
    if let Some(fault) = names::fault(&name, limits.max_name) {
        return Err(refused(fault));
    }
    if about.encrypted() {
        return Err(refused("is encrypted"));
    }
    if !matches!(about.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        return Err(refused("is packed in an unknown way"));
    }
    let mode = about.unix_mode().unwrap_or_default();
    let kind = match (mode & TYPE, name.ends_with('/')) {
        (0 | FOLDER, true) => Kind::Folder,
        (0 | REGULAR, false) => Kind::File,
        _ => return Err(refused("is a link or a special file")),
    };
    if kind == Kind::Folder && about.size() > 0 {
        return Err(refused("is a folder with content"));
    }
    Ok(Entry {
        name: name.trim_end_matches('/').to_owned(),
        kind,
        size: about.size(),
        is_executable: mode & EXECUTABLE != 0,
        modified: about.last_modified().and_then(from_zip),
    })
}

/// Refuses a name that is a file and a folder at once, or stands twice with and without a slash.
fn check_paths(entries: &[Entry]) -> Result<()> {
    let mut names = HashSet::with_capacity(entries.len());
    if let Some(doubled) = entries.iter().find(|entry| !names.insert(entry.name.as_str())) {
        return Err(Error::bad(format!("the name {:?} stands twice", doubled.name)));
    }
    let files: HashSet<&str> =
        entries.iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        for (at, _) in entry.name.match_indices('/') {
            if files.contains(&entry.name[..at]) {
                return Err(Error::bad(format!("{:?} is a file and a folder", &entry.name[..at])));
            }
        }
    }
    Ok(())
}

/// Yields exactly as many bytes as announced, or fails.
struct Exact<Content> {
    content: Content,
    left: u64,
}

impl<Content: Read> Read for Exact<Content> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        if read == 0 && self.left > 0 && !into.is_empty() {
            return wrong("an entry is shorter than the directory says");
        }
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return wrong("an entry is longer than the directory says"),
        }
        Ok(read)
    }
}
