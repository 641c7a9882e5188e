//! Writes a ZIP to a stream.
//!
//! Nothing is ever sought or rewritten, so that the stream may encrypt. Each entry gets its SHA-256 on the way. An entry
//! that would make the archive look like a bomb to its own reader (a disk image of zeros, say) is stored as it is.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::digest::Sha256;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::names;

/// The level of compression: backups are made beside the service, so speed comes first.
const LEVEL: i64 = 3;

/// Endings of files that do not get smaller.
const PACKED: [&str; 20] = [
    "zip", "gz", "xz", "zst", "bz2", "7z", "jpg", "jpeg", "png", "gif", "webp", "avif", "mp3", "ogg", "opus",
    "flac", "mp4", "webm", "mkv", "age",
];

/// From this size on an entry is written with the fields of large files.
const LARGE: u64 = 0xffff_0000;

const BUFFER: usize = 128 << 10;

/// What is kept of a file besides its content.
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    /// Its size. No more than this is read.
    pub size: u64,
    /// Whether its owner may execute it.
    pub is_executable: bool,
    /// When it was last changed. A ZIP keeps it in steps of two seconds; this crate writes and reads it as UTC.
    pub modified: Option<Timestamp>,
}

/// A ZIP that is being written.
pub struct ArchiveWriter<Sink: Write> {
    zip: ZipWriter<StreamWriter<Counted<Sink>>>,
    sums: BTreeMap<String, String>,
    limits: Limits,
    unpacked: u64,
    packed: Arc<AtomicU64>,
    entries: u64,
    last: Option<Last>,
    bombs: Vec<String>,
}

/// The last entry of [`ArchiveWriter::add_written`].
struct Last {
    name: String,
    bytes: u64,
    /// How many bytes of the archive precede its content.
    begun: u64,
}

impl<Sink: Write> ArchiveWriter<Sink> {
    /// Writes to this stream.
    pub fn new(sink: Sink, limits: Limits) -> Self {
        let packed = Arc::new(AtomicU64::new(0));
        let sink = Counted { sink, written: packed.clone(), has_failed: Arc::default() };
        let zip = ZipWriter::new_stream(sink);
        Self {
            zip,
            sums: BTreeMap::new(),
            limits,
            unpacked: 0,
            packed,
            entries: 0,
            last: None,
            bombs: Vec::new(),
        }
    }

    /// Adds a file. Reads at most `about.size` bytes and returns how many there were.
    pub fn add(&mut self, name: &str, about: About, content: impl Read) -> Result<u64> {
        self.check(name)?;
        let packed = self.packed.load(Ordering::Relaxed);
        let is_packed = name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| PACKED.iter().any(|packed| ending.eq_ignore_ascii_case(packed)));
        let method = match is_packed || self.limits.must_store(self.unpacked, packed, about.size) {
            true => CompressionMethod::Stored,
            false => CompressionMethod::Deflated,
        };
        let mut options = options(method)
            .large_file(about.size >= LARGE)
            .unix_permissions(if about.is_executable { 0o700 } else { 0o600 });
        if let Some(time) = about.modified.and_then(to_zip) {
            options = options.last_modified_time(time);
        }
        self.zip.start_file(name, options)?;
        let mut hash = Sha256::default();
        let (mut content, mut buffer, mut size) = (content.take(about.size), vec![0; BUFFER], 0);
        loop {
            let read = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            hash.update(&buffer[..read]);
            self.zip.write_all(&buffer[..read])?;
            size += read as u64;
        }
        self.unpacked += size;
        self.entries += 1;
        self.sums.insert(name.to_owned(), hash.finish());
        Ok(size)
    }

    /// Adds a file whose content `write` produces, and returns its SHA-256 in hexadecimal.
    pub fn add_written(
        &mut self,
        name: &str,
        packing: Packing,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<String> {
        self.check(name)?;
        let method = match packing {
            Packing::Stored => CompressionMethod::Stored,
            Packing::Deflated => CompressionMethod::Deflated,
        };
        self.zip.start_file(name, options(method).unix_permissions(0o600))?;
        // The entry before is complete only now.
        let begun = self.packed.load(Ordering::Relaxed);
        self.note_last(begun);
        let mut out = Hashed {
            out: BufWriter::with_capacity(BUFFER, &mut self.zip),
            hash: Sha256::default(),
            bytes: 0,
        };
        write(&mut out)?;
        out.flush()?;
        let (bytes, sha256) = (out.bytes, std::mem::take(&mut out.hash).finish());
        drop(out);
        self.unpacked += bytes;
        self.entries += 1;
        self.last = Some(Last { name: name.to_owned(), bytes, begun });
        Ok(sha256)
    }

    /// Notes whether the last entry compressed so well that a reader with the same limits takes it for a bomb.
    fn note_last(&mut self, end: u64) {
        let Some(last) = self.last.take() else { return };
        if self.limits.is_too_dense(last.bytes, end - last.begun) {
            self.bombs.push(last.name);
        }
    }

    /// Adds a folder, for those without files. `name` ends with a slash.
    pub fn add_folder(&mut self, name: &str) -> Result<()> {
        self.check(name)?;
        self.zip.add_directory(name, SimpleFileOptions::default().unix_permissions(0o700))?;
        self.entries += 1;
        Ok(())
    }

    /// Returns the SHA-256 of each file added so far, in hexadecimal.
    pub fn sums(&self) -> &BTreeMap<String, String> {
        &self.sums
    }

    /// Returns how many bytes were added.
    pub fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Writes the directory and returns the stream.
    pub fn finish(self) -> Result<Sink> {
        Ok(self.zip.finish()?.into_inner().sink)
    }

    /// Does the same, and returns the entries of [`Self::add_written`] that a reader would take for bombs. Then the archive has
    /// to be written anew, with these stored.
    pub fn finish_judged(mut self) -> Result<(Sink, Vec<String>)> {
        let out = self.zip.finish()?.into_inner();
        // The directory counts in favour of the last entry, which is therefore better a small one.
        if let Some(last) = self.last
            && self.limits.is_too_dense(last.bytes, self.packed.load(Ordering::Relaxed) - last.begun)
        {
            self.bombs.push(last.name);
        }
        Ok((out.sink, self.bombs))
    }

    fn check(&self, name: &str) -> Result<()> {
        if let Some(fault) = names::fault(name, self.limits.max_name) {
            return Err(Error::bad(format!("the name {name:?} {fault}")));
        }
        if self.entries >= self.limits.max_entries {
            let max = self.limits.max_entries;
            return Err(Error::bad(format!("there are more than {max} files")));
        }
        Ok(())
    }
}

/// How an entry is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    Stored,
    /// Compressed.
    Deflated,
}

fn options(method: CompressionMethod) -> SimpleFileOptions {
    let level = (method == CompressionMethod::Deflated).then_some(LEVEL);
    SimpleFileOptions::default().compression_method(method).compression_level(level)
}

/// Hashes and counts what passes.
struct Hashed<Out> {
    out: Out,
    hash: Sha256,
    bytes: u64,
}

impl<Out: Write> Write for Hashed<Out> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Counts what passes. After a failure it swallows the rest: the ZIP writer tries to write its directory when dropped, and
/// complains on standard error if it cannot.
struct Counted<Sink> {
    sink: Sink,
    written: Arc<AtomicU64>,
    has_failed: Arc<AtomicBool>,
}

impl<Sink: Write> Write for Counted<Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Ok(bytes.len());
        }
        let written = self.sink.write(bytes).inspect_err(|error| {
            self.has_failed.store(error.kind() != io::ErrorKind::Interrupted, Ordering::Relaxed);
        })?;
        self.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_failed.load(Ordering::Relaxed) { Ok(()) } else { self.sink.flush() }
    }
}

fn to_zip(time: Timestamp) -> Option<DateTime> {
    let civil = time.to_zoned(TimeZone::UTC).datetime();
    let part = |value: i8| u8::try_from(value).ok();
    let (month, day) = (part(civil.month())?, part(civil.day())?);
    let (hour, minute, second) = (part(civil.hour())?, part(civil.minute())?, part(civil.second())?);
    DateTime::from_date_and_time(u16::try_from(civil.year()).ok()?, month, day, hour, minute, second).ok()
}

/// Reads a time of a ZIP file as UTC.
pub(crate) fn from_zip(time: DateTime) -> Option<Timestamp> {
    let part = |value: u8| i8::try_from(value).ok();
    let (month, day) = (part(time.month())?, part(time.day())?);
    let (hour, minute, second) = (part(time.hour())?, part(time.minute())?, part(time.second())?);
    let civil =
        civil::DateTime::new(i16::try_from(time.year()).ok()?, month, day, hour, minute, second, 0).ok()?;
    civil.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}
