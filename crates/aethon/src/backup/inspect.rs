//! Opens an untrusted backup and checks all of it. Nothing is written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aethon_archive::seal::{self, Key, Needs};
use aethon_archive::{Archive, Error as ArchiveError, Kind, Limits};
use rustix::fs::OFlags;

use super::contents::{self, DATABASE, Summary};
use super::manifest::{self, Manifest};
use crate::error::{Error, Result};

/// How every database begins, where its format stands, and our mark behind it.
const DATABASE_MAGIC: &[u8] = b"SQLite format 3\0";
const DATABASE_FORMAT: usize = 60;
const DATABASE_HEADER: usize = 100;

/// Words in a manifest are not longer.
const MAX_WORD: usize = 200;

/// A file that may be a backup.
#[derive(Debug)]
pub enum Opened {
    /// A backup. It is not checked yet.
    Backup(File, Needs),
    /// A database, such as the copy from before a migration.
    Database,
}

impl Opened {
    /// Opens a file and looks at how it begins.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path);
        let mut file = file.map_err(|error| Error::refused(format!("{shown} cannot be read: {error}")))?;
        let about =
            file.metadata().map_err(|error| Error::refused(format!("{shown} cannot be read: {error}")))?;
        if !about.is_file() {
            return Err(Error::refused(format!("{shown} is not a file")));
        }
        let mut start = [0; DATABASE_MAGIC.len()];
        let has_start = file.read_exact(&mut start).is_ok();
        if has_start && start == DATABASE_MAGIC {
            return Ok(Self::Database);
        }
        let needs = seal::needs(&file).map_err(|error| refused(path, &error))?;
        Ok(Self::Backup(file, needs))
    }
}

/// A backup that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its contents.
    pub contents: Summary,
}

/// The source of an untrusted archive.
pub(super) type Source<'a> = Box<dyn ReadSeek + 'a>;

/// A file or its decrypted content.
pub(super) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Opens a backup, with its key if it is encrypted.
pub(super) fn open<'a>(file: &'a File, key: Option<&Key>) -> aethon_archive::Result<Archive<Source<'a>>> {
    match key {
        Some(key) => read(Box::new(seal::decrypt(file, key)?) as Source<'_>),
        None => read(Box::new(file) as Source<'_>),
    }
}

/// Checks a whole backup. `progress` gets the bytes done and all bytes, and ends it by returning `false`. Blocks.
pub fn inspect(
    (path, file): (&Path, &File),
    key: Option<&Key>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Checked> {
    let checked = open(file, key).and_then(|mut archive| check(&mut archive, progress));
    checked.map_err(|error| refused(path, &error))
}

/// The refusal of a backup.
pub(super) fn refused(path: &Path, error: &ArchiveError) -> Error {
    match error.is_bad_archive() {
        true => Error::refused(format!("{} is no backup that can be restored: {error}", path.display())),
        false => Error::refused(format!("{}: {error}", path.display())),
    }
}

/// Opens an archive within the limits of backups.
pub(super) fn read<Content: Read + Seek>(source: Content) -> aethon_archive::Result<Archive<Content>> {
    Archive::open(source, Limits::BACKUP)
}

/// Reads the manifest, and checks that it and the directory agree.
pub(super) fn manifest<Content: Read + Seek>(
    archive: &mut Archive<Content>,
) -> aethon_archive::Result<Manifest> {
    let bad = |message: String| Err(ArchiveError::bad(message));
    let Some(position) = archive.position(manifest::NAME) else {
        return bad("it has no manifest.json".to_owned());
    };
    let content = archive.read_whole(position, manifest::MAX_BYTES)?;
    let read: Manifest = match serde_json::from_slice(&content) {
        Ok(read) => read,
        Err(error) => return bad(format!("its manifest.json cannot be read: {error}")),
    };
    if read.format_version != manifest::FORMAT {
        let (found, known) = (read.format_version, manifest::FORMAT);
        return bad(format!("it has the format {found}, and this version of aethon knows {known}"));
    }
    if read.version.len() > MAX_WORD {
        return bad("its manifest names a version that is too long".to_owned());
    }
    if let Some(fault) = archive.entries().iter().find_map(contents::fault) {
        return bad(fault);
    }
    let files =
        archive.entries().iter().filter(|entry| entry.kind == Kind::File && entry.name != manifest::NAME);
    let sizes: BTreeMap<&str, u64> = files.map(|entry| (entry.name.as_str(), entry.size)).collect();
    if let Some(unknown) = sizes.keys().find(|name| !read.entries.contains_key(**name)) {
        return bad(format!("{unknown:?} is not in its manifest"));
    }
    if let Some(missing) = read.entries.keys().find(|name| !sizes.contains_key(name.as_str())) {
        return bad(format!("{missing:?} is in its manifest, and not in the file"));
    }
    Ok(read)
}

/// Checks every file against its checksum, and the database against what this program knows.
pub(super) fn check<Content: Read + Seek>(
    archive: &mut Archive<Content>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> aethon_archive::Result<Checked> {
    let manifest = manifest(archive)?;
    let contents = Summary::of(archive.entries());
    let mut done = 0;
    for position in 0..archive.entries().len() {
        let entry = archive.entries()[position].clone();
        let Some(expected) = manifest.entries.get(&entry.name).filter(|_| entry.kind == Kind::File) else {
            continue;
        };
        let mut sink = Hashing::new(Head::default());
        copy(archive.read(position)?, &mut sink, &mut |bytes| {
            done += bytes;
            progress(done, contents.bytes)
        })?;
        let (head, sum) = sink.finish();
        if !sum.eq_ignore_ascii_case(expected) {
            return Err(ArchiveError::bad(format!(
                "{:?} has another checksum than the manifest says",
                entry.name
            )));
        }
        if entry.name == DATABASE {
            check_database(&head.0)?;
        }
    }
    Ok(Checked { manifest, contents })
}

/// Refuses a database that a newer version wrote. Whether it is intact is checked once it lies in a file.
fn check_database(head: &[u8]) -> aethon_archive::Result<()> {
    let known = aethon_store::copy::FORMAT;
    if head.len() < DATABASE_HEADER || !head.starts_with(DATABASE_MAGIC) {
        return Err(ArchiveError::bad("its aethon.db is not a database"));
    }
    let field = head[DATABASE_FORMAT..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    match i64::from(field) {
        found if found > known => Err(ArchiveError::bad(format!(
            "its database has format {found}, and this version of aethon knows formats up to {known}: restore it with the \
             version that made it, or a newer one"
        ))),
        _ => Ok(()),
    }
}

/// Where content goes while it is hashed.
pub(super) trait Take {
    /// Takes a piece.
    fn take(&mut self, piece: &[u8]) -> io::Result<()>;
}

/// Keeps the beginning only.
#[derive(Default)]
struct Head(Vec<u8>);

impl Take for Head {
    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        let missing = DATABASE_HEADER.saturating_sub(self.0.len());
        self.0.extend_from_slice(&piece[..piece.len().min(missing)]);
        Ok(())
    }
}

impl Take for File {
    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        io::Write::write_all(self, piece)
    }
}

/// Hashes the bytes that it passes on.
pub(super) struct Hashing<To> {
    to: To,
    hash: aethon_archive::Sha256,
}

impl<To: Take> Hashing<To> {
    pub(super) fn new(to: To) -> Self {
        Self { to, hash: aethon_archive::Sha256::default() }
    }

    /// Returns where the content went, and its SHA-256.
    pub(super) fn finish(self) -> (To, String) {
        (self.to, self.hash.finish())
    }
}

/// Copies content, reporting each piece.
pub(super) fn copy<To: Take>(
    mut content: impl Read,
    sink: &mut Hashing<To>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> aethon_archive::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(aethon_archive::unpacking(error)),
        };
        sink.hash.update(&buffer[..read]);
        sink.to.take(&buffer[..read])?;
        if !progress(read as u64) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it was stopped").into());
        }
    }
}
