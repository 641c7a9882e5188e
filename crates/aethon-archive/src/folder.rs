//! Adds a folder to an archive.
//!
//! Others may write to the folder meanwhile, and may mean harm. So each step opens a name within an open folder, never
//! through a link and never waiting, and looks again at what was opened. Links, pipes, sockets and devices are skipped, and so
//! is what cannot be read or named in an archive. A file that is mostly holes is skipped as well: it takes no room on its
//! disk, and would take hours and all the room of another. Of a file that grows, as much is read as there was at first.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, SeekFrom, Stat, fstat, openat, seek, statat};
use rustix::io::Errno;

use crate::error::Result;
use crate::limits::Limits;
use crate::names;
use crate::write::{About, ArchiveWriter};

/// Maximum depth of folders. Each open one takes a file descriptor.
const MAX_DEPTH: usize = 100;

/// How many bytes the holes of all files of a folder may have. Programs that write at random places leave a few.
const MAX_HOLES: u64 = 64 << 20;

/// How many holes of one file are counted. A file with more was made to be slow.
const MAX_COUNTED: usize = 10_000;

/// Below this much it is not worth looking for holes: a file system may keep a small file in its directory.
const SMALL: u64 = 64 << 10;

const SAFE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Something that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name in the archive, if it had been added.
    pub name: String,
    /// Why it was left out, such as "is a link".
    pub reason: String,
}

/// Events during the visit of a folder.
pub enum Found<'a> {
    /// A name that is about to be added: return whether it is wanted. Folders end with a slash.
    Name(&'a str),
    /// So many bytes were read.
    Bytes(u64),
}

/// Adds the content of a folder under `prefix`, which ends with a slash. `visit` decides about each name, and sees the
/// progress; its error ends the work. The folder itself may be a link; nothing below it is followed.
pub fn add_folder<Sink: Write>(
    writer: &mut ArchiveWriter<Sink>,
    folder: &Path,
    prefix: &str,
    visit: &mut dyn FnMut(Found<'_>) -> io::Result<bool>,
) -> Result<Vec<Skipped>> {
    let opened: OwnedFd = match File::open(folder) {
        Ok(file) => file.into(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut walk = Walk { writer, visit, skipped: Vec::new(), holes: 0 };
    walk.enter(&opened, prefix, 0)?;
    Ok(walk.skipped)
}

struct Walk<'a, Sink: Write> {
    writer: &'a mut ArchiveWriter<Sink>,
    visit: &'a mut dyn FnMut(Found<'_>) -> io::Result<bool>,
    skipped: Vec<Skipped>,
    /// How many bytes the holes of the files had that were added.
    holes: u64,
}

impl<Sink: Write> Walk<'_, Sink> {
    fn enter(&mut self, folder: &OwnedFd, prefix: &str, depth: usize) -> Result<()> {
        let mut names = match list(folder) {
            Ok(names) => names,
            Err(error) => {
                self.skip(prefix, format!("cannot be read: {error}"));
                return Ok(());
            }
        };
        names.sort_unstable();
        if names.is_empty() {
            return self.writer.add_folder(prefix);
        }
        for name in names {
            let Ok(text) = std::str::from_utf8(&name) else {
                let shown = format!("{prefix}{}", String::from_utf8_lossy(&name));
                self.skip(&shown, "has a name that is not UTF-8".to_owned());
                continue;
            };
            let full = format!("{prefix}{text}");
            if let Some(fault) = names::fault(&full, Limits::BACKUP.max_name) {
                self.skip(&full, format!("has a name that {fault}"));
                continue;
            }
            self.step(folder, text, &full, depth)?;
        }
        Ok(())
    }

    fn step(&mut self, folder: &OwnedFd, name: &str, full: &str, depth: usize) -> Result<()> {
        // Opening a device may do something, so this looks first.
        let kind = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(error) => {
                self.skip_unreadable(full, error.into());
                return Ok(());
            }
        };
        let is_folder = kind == FileType::Directory;
        let shown = if is_folder { format!("{full}/") } else { full.to_owned() };
        if !(self.visit)(Found::Name(&shown))? {
            return Ok(());
        }
        let reason = match kind {
            FileType::Directory if depth >= MAX_DEPTH => "is nested too deeply",
            FileType::Directory | FileType::RegularFile => "",
            FileType::Symlink => "is a link",
            FileType::Fifo => "is a pipe",
            FileType::Socket => "is a socket",
            _ => "is a device",
        };
        if !reason.is_empty() {
            self.skip(full, reason.to_owned());
            return Ok(());
        }
        let opened = match openat(folder, name, SAFE, Mode::empty()) {
            Ok(opened) => opened,
            Err(error) => {
                self.skip_unreadable(full, error.into());
                return Ok(());
            }
        };
        let stat = match fstat(&opened) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == kind => stat,
            Ok(_) => {
                self.skip(full, "changed meanwhile".to_owned());
                return Ok(());
            }
            Err(error) => {
                self.skip_unreadable(full, error.into());
                return Ok(());
            }
        };
        if is_folder {
            return self.enter(&opened, &shown, depth + 1);
        }
        let about = about(&stat);
        let holes = holes(&opened, about.size, stored(&stat))?;
        if self.holes.saturating_add(holes) > MAX_HOLES {
            self.skip(full, format!("is sparse: of its {} MiB, most are holes", about.size >> 20));
            return Ok(());
        }
        self.holes += holes;
        let content = Watched { content: File::from(opened), visit: &mut *self.visit };
        self.writer.add(full, about, content).map(drop)
    }

    /// A file that is gone by now was removed, which is no fault.
    fn skip_unreadable(&mut self, name: &str, error: io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.skip(name, format!("cannot be read: {error}"));
        }
    }

    fn skip(&mut self, name: &str, reason: String) {
        self.skipped.push(Skipped { name: name.to_owned(), reason });
    }
}

fn list(folder: impl AsFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// Returns how many bytes the holes of an open file have; more than are allowed if it has more of them than are counted. A file system
/// that compresses stores less than the size as well, so holes are looked for.
fn holes(file: &OwnedFd, size: u64, stored: u64) -> io::Result<u64> {
    if size.saturating_sub(stored) <= SMALL {
        return Ok(0);
    }
    let (mut found, mut from) = (0_u64, 0);
    for counted in 0..=MAX_COUNTED {
        // Each file ends with a hole, so one at the end is none.
        let Ok(hole) = seek(file, SeekFrom::Hole(from)) else { break };
        if hole >= size {
            break;
        }
        let data = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => size,
            Err(_) => break,
        };
        found =
            if counted == MAX_COUNTED { u64::MAX } else { found.saturating_add(data.saturating_sub(hole)) };
        if data <= hole || data >= size || found > MAX_HOLES {
            break;
        }
        from = data;
    }
    seek(file, SeekFrom::Start(0))?;
    Ok(found)
}

fn stored(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512)
}

#[expect(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ between systems")]
fn about(stat: &Stat) -> About {
    let modified = Timestamp::from_second(i64::from(stat.st_mtime)).ok();
    About {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        is_executable: stat.st_mode as u32 & 0o100 != 0,
        modified,
    }
}

/// A file whose reading is reported. A failing disk in the middle of a file ends the work: half a file is no backup.
struct Watched<'a> {
    content: File,
    visit: &'a mut dyn FnMut(Found<'_>) -> io::Result<bool>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        (self.visit)(Found::Bytes(read as u64))?;
        Ok(read)
    }
}
