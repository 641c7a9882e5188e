//! Writes a ZIP to a stream.
//!
//! Nothing is ever sought or rewritten, so that the stream may encrypt. Each entry gets its SHA-256 on the way. An entry
//! that would make the archive look like a bomb to its own reader (a disk image of zeros, say) is stored as it is.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::digest::Sha256;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::names;

/// How a file is stored.
#[derive(Debug, Clone, Copy)]
enum Packing {
    AsIs,
    /// For files of a backup, which is made beside the service: speed comes first.
    Deflated,
    /// For content that is written while turns go on. The engine's first level hardly packs text.
    DeflatedFast,
}

impl Packing {
    /// Returns the level of compression.
    fn level(self) -> Option<u32> {
        match self {
            Self::AsIs => None,
            Self::Deflated => Some(3),
            Self::DeflatedFast => Some(2),
        }
    }
}

/// Endings of files that do not get smaller.
const PACKED: [&str; 20] = [
    "zip", "gz", "xz", "zst", "bz2", "7z", "jpg", "jpeg", "png", "gif", "webp", "avif", "mp3", "ogg", "opus",
    "flac", "mp4", "webm", "mkv", "age",
];

/// From this size on an entry is written with the fields of large files.
const LARGE: u64 = 0xffff_0000;

const BUFFER: usize = 128 << 10;

/// Metadata of a file that is kept with its content.
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
}

impl<Sink: Write> ArchiveWriter<Sink> {
    /// Writes to this stream.
    pub fn new(sink: Sink, limits: Limits) -> Self {
        let packed = Arc::new(AtomicU64::new(0));
        let sink = Counted { sink, written: packed.clone(), has_failed: Arc::default() };
        let zip = ZipWriter::new_stream(sink);
        Self { zip, sums: BTreeMap::new(), limits, unpacked: 0, packed, entries: 0 }
    }

    /// Adds a file. Reads at most `about.size` bytes and returns how many there were.
    pub fn add(&mut self, name: &str, about: About, content: impl Read) -> Result<u64> {
        let is_packed = is_packed(name) || self.must_store(0, about.size);
        let packing = if is_packed { Packing::AsIs } else { Packing::Deflated };
        let mut content = BufReader::with_capacity(BUFFER, content.take(about.size));
        self.write(name, about, packing, |out| io::copy(&mut content, out).map(drop))
    }

    /// Adds a file whose content, `size` bytes, is written by `write`. A large file is written twice, first only to see how
    /// small it packs.
    pub fn add_written(
        &mut self,
        name: &str,
        size: u64,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64> {
        let is_large = self.must_store(0, size);
        let is_bomb = is_large && self.must_store(packed_size(Packing::DeflatedFast, &write)?, size);
        let packing = if is_bomb { Packing::AsIs } else { Packing::DeflatedFast };
        self.write(name, About { size, ..About::default() }, packing, write)
    }

    /// Returns whether a file must be stored unpacked that packs to at least `packed` bytes.
    fn must_store(&self, packed: u64, size: u64) -> bool {
        let packed = self.packed.load(Ordering::Relaxed).saturating_add(packed);
        self.limits.must_store(self.unpacked, packed, size)
    }

    fn write(
        &mut self,
        name: &str,
        about: About,
        packing: Packing,
        mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64> {
        self.check(name)?;
        let level = packing.level();
        let method = level.map_or(CompressionMethod::Stored, |_| CompressionMethod::Deflated);
        let mut options = SimpleFileOptions::default()
            .compression_method(method)
            .compression_level(level.map(i64::from))
            .large_file(about.size >= LARGE)
            .unix_permissions(if about.is_executable { 0o700 } else { 0o600 });
        if let Some(time) = about.modified.and_then(to_zip) {
            options = options.last_modified_time(time);
        }
        self.zip.start_file(name, options)?;
        let mut content = Hashed { out: &mut self.zip, hash: Sha256::default(), size: 0 };
        write(&mut content)?;
        let (hash, size) = (content.hash.finish(), content.size);
        self.unpacked += size;
        self.entries += 1;
        self.sums.insert(name.to_owned(), hash);
        Ok(size)
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

/// Returns whether the file's name says that it does not get smaller.
fn is_packed(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| PACKED.iter().any(|packed| ending.eq_ignore_ascii_case(packed)))
}

fn packed_size(packing: Packing, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<u64> {
    let packed = Arc::new(AtomicU64::new(0));
    let sink = Counted { sink: io::sink(), written: packed.clone(), has_failed: Arc::default() };
    let mut encoder = DeflateEncoder::new(sink, Compression::new(packing.level().unwrap_or(0)));
    write(&mut encoder)?;
    encoder.finish()?;
    Ok(packed.load(Ordering::Relaxed))
}

/// Hashes and counts the content of a file.
struct Hashed<Out> {
    out: Out,
    hash: Sha256,
    size: u64,
}

impl<Out: Write> Write for Hashed<Out> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.size += written as u64;
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
