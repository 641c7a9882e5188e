//! Writes a ZIP to a seekable file, entry by entry, the directory last.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use ring::digest::{Context, SHA256};

use super::density::is_too_dense;
use super::{CENTRAL, DEFLATED, END, LOCAL, LOCAL_BYTES, STORED};
use crate::hex::hex;

/// 1980-01-01, the first day that a ZIP can express. The real times are in the recording itself.
const DAY: u16 = 0x21;

/// Unix mode: a regular file, readable and writable by its owner.
const MODE: u32 = 0o100_600;

/// A ZIP being written.
pub(crate) struct ZipWriter {
    file: File,
    /// Offset of the next entry.
    end: u64,
    directory: Vec<u8>,
    entries: u16,
}

/// A written entry.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// SHA-256 of its content.
    pub(crate) sha256: String,
}

impl ZipWriter {
    /// Starts a ZIP in this empty file.
    pub(crate) fn new(file: File) -> Self {
        Self { file, end: 0, directory: Vec::new(), entries: 0 }
    }

    /// Adds an entry whose content `write` produces. `write` is called a second time if the content compresses so well
    /// that a reader would take it for a bomb.
    pub(crate) fn add(
        &mut self,
        name: &str,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Written> {
        let packed = self.pack(name, DEFLATED, &write)?;
        let packed = if is_too_dense(packed.unpacked, packed.packed) {
            self.pack(name, STORED, &write)?
        } else {
            packed
        };
        let (size, unpacked) = (narrow(packed.packed)?, narrow(packed.unpacked)?);
        let offset = narrow(self.end)?;
        // Fill in what was not known before the content was written.
        self.file.seek(SeekFrom::Start(self.end + 14))?;
        self.file.write_all(&[packed.crc, size, unpacked].map(u32::to_le_bytes).concat())?;
        self.end += header_bytes(name) + packed.packed;
        self.note(name, &packed, (size, unpacked, offset));
        self.entries = self.entries.checked_add(1).ok_or_else(|| too_much("entries"))?;
        Ok(Written { sha256: packed.sha256 })
    }

    /// Writes the directory and returns the file.
    pub(crate) fn finish(mut self) -> io::Result<File> {
        let (size, offset) = (narrow(self.directory.len() as u64)?, narrow(self.end)?);
        let mut end = Vec::with_capacity(super::END_BYTES);
        end.extend(END.to_le_bytes());
        end.extend([0; 4]);
        end.extend([self.entries, self.entries].map(u16::to_le_bytes).concat());
        end.extend([size, offset].map(u32::to_le_bytes).concat());
        end.extend([0; 2]);
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&self.directory)?;
        self.file.write_all(&end)?;
        Ok(self.file)
    }

    fn pack(
        &mut self,
        name: &str,
        method: u16,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Packed> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        let mut out = BufWriter::new(&mut self.file);
        let mut header = Vec::with_capacity(name.len() + 30);
        header.extend(LOCAL.to_le_bytes());
        header.extend(fields(method));
        header.extend([0; 12]);
        header.extend(narrow_name(name)?.to_le_bytes());
        header.extend([0; 2]);
        header.extend(name.as_bytes());
        out.write_all(&header)?;
        let mut content = Content::default();
        if method == STORED {
            write(&mut Tee { out: &mut out, content: &mut content })?;
        } else {
            let mut encoder = DeflateEncoder::new(&mut out, Compression::fast());
            write(&mut Tee { out: &mut encoder, content: &mut content })?;
            encoder.finish()?;
        }
        out.flush()?;
        drop(out);
        let packed = self.file.stream_position()? - self.end - header_bytes(name);
        let sha256 = hex(content.sum.finish().as_ref());
        Ok(Packed { method, crc: content.crc.sum(), packed, unpacked: content.bytes, sha256 })
    }

    /// Adds a directory entry.
    fn note(&mut self, name: &str, packed: &Packed, (size, unpacked, offset): (u32, u32, u32)) {
        let row = &mut self.directory;
        row.extend(CENTRAL.to_le_bytes());
        // Made by version 2.0 on Unix.
        row.extend((3_u16 << 8 | 20).to_le_bytes());
        row.extend(fields(packed.method));
        row.extend([packed.crc, size, unpacked].map(u32::to_le_bytes).concat());
        row.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        row.extend([0; 8]);
        row.extend((MODE << 16).to_le_bytes());
        row.extend(offset.to_le_bytes());
        row.extend(name.as_bytes());
    }
}

/// What is known of an entry once it is written.
struct Packed {
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
    sha256: String,
}

struct Content {
    crc: Crc,
    sum: Context,
    bytes: u64,
}

impl Default for Content {
    fn default() -> Self {
        Self { crc: Crc::new(), sum: Context::new(&SHA256), bytes: 0 }
    }
}

/// Passes data on, and hashes and counts it.
struct Tee<'t, Out: Write> {
    out: &'t mut Out,
    content: &'t mut Content,
}

impl<Out: Write> Write for Tee<'_, Out> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let bytes = &bytes[..written];
        self.content.crc.update(bytes);
        self.content.sum.update(bytes);
        self.content.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Version needed, flags (UTF-8 names), method, time and day.
fn fields(method: u16) -> Vec<u8> {
    [20, 1 << 11, method, 0, DAY].map(u16::to_le_bytes).concat()
}

fn header_bytes(name: &str) -> u64 {
    LOCAL_BYTES + name.len() as u64
}

fn narrow(size: u64) -> io::Result<u32> {
    u32::try_from(size).ok().filter(|&size| size < u32::MAX).ok_or_else(|| too_much("bytes"))
}

fn narrow_name(name: &str) -> io::Result<u16> {
    u16::try_from(name.len()).map_err(|_| too_much("characters in a name"))
}

fn too_much(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("more {what} than a ZIP file holds"))
}
