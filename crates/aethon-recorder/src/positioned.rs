//! A file that several readers read at a time, each at its own position.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// An open file with a position of its own: a clone shares the file and not the position.
#[derive(Debug, Clone)]
pub(crate) struct Positioned {
    file: Arc<File>,
    at: u64,
}

impl Positioned {
    pub(crate) fn new(file: File) -> Self {
        Self { file: Arc::new(file), at: 0 }
    }

    /// Returns the file, positioned at its start.
    pub(crate) fn into_file(self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }
}

impl Read for Positioned {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(offset) => (self.at, offset),
            SeekFrom::End(offset) => (self.file.metadata()?.len(), offset),
        };
        let before =
            || io::Error::new(io::ErrorKind::InvalidInput, "a position before the start of the file");
        self.at = base.checked_add_signed(offset).ok_or_else(before)?;
        Ok(self.at)
    }
}
