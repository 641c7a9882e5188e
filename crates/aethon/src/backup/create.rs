//! Makes a backup.
//!
//! The database is copied as one snapshot into the home's `run/`, so that no other disk sees it in clear, and checked there. The
//! archive is written beside its name, synced, opened again and checked from the first byte to the last; only then is it
//! renamed. What lies on a server is written as lines in its place. One backup of a home is made at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use aethon_archive::seal::{self, Key, Lock};
use aethon_archive::{About, ArchiveWriter, Found, Limits, Skipped, add_folder};
use aethon_config::private_file;
use aethon_core::secret::Secret;
use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::Serialize;

use super::contents::{CONFIG, CREDENTIALS, DATABASE, FOLDERS, MODELS, ROWS, Summary};
use super::inspect::{check, read};
use super::manifest::{self, Manifest};
use super::place::{self, Partial, failed};
use super::room::Room;
use super::shelf;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::postgres::ServerRows;
use crate::rows::write_lines;

/// The backup to make.
pub struct Request {
    /// The file to write, which must not exist.
    pub target: PathBuf,
    /// The configuration file in use, which need not be that of the home.
    pub config: PathBuf,
    /// Whether the stored secrets go into it. Requires `lock`.
    pub with_secrets: bool,
    /// The key that encrypts it.
    pub lock: Option<Lock>,
    /// Whether this process has the database open.
    pub database: DatabaseUse,
}

/// Whether this process has the database open, in which case its files must not be opened directly.
#[derive(Debug, Clone)]
pub enum DatabaseUse {
    /// It has, and checked it when it did.
    Open,
    /// It has not.
    Closed,
    /// There is none in the home: the data is on the server at this address.
    OnServer(Secret),
}

/// The phase of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The database is copied.
    Database,
    /// Files are added.
    Files,
    /// The result is checked.
    Checking,
}

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// How much is done, in bytes or pages.
    pub done: u64,
    /// How much there is; 0 if unknown.
    pub total: u64,
}

/// A backup that was made and checked.
#[derive(Debug, Clone, Serialize)]
pub struct Created {
    /// Its file.
    pub file: PathBuf,
    /// The size of the file.
    pub size: u64,
    /// When it was begun.
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub created_at: Timestamp,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// The format of the database in it.
    pub database_format: Option<i64>,
    /// Its contents.
    pub contents: Summary,
    /// The omitted files.
    #[serde(serialize_with = "skipped")]
    pub skipped: Vec<Skipped>,
    /// The keys whose secrets stand in the configuration file itself, and so in the backup.
    pub secrets_in_config: Vec<String>,
}

fn skipped<S: serde::Serializer>(skipped: &[Skipped], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(skipped.iter().map(|one| format!("{} {}", one.name, one.reason)))
}

/// Makes a backup of a home. `progress` ends it by returning `false`. Blocks.
pub fn create(
    home: &Home,
    request: &Request,
    now: Timestamp,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Created> {
    if request.with_secrets && request.lock.is_none() {
        return Err(Error::refused(
            "a backup with secrets is always encrypted: pass --passphrase, --recipient AGE, or set backup.recipient",
        ));
    }
    check_target(home, &request.target)?;
    private_file::create_directory(&home.run()).map_err(failed("created", &home.run()))?;
    let _lock = only_one(home)?;
    shelf::sweep(&place::parent_of(&request.target));
    let room = room(home, request);
    room.check(&place::parent_of(&request.target))?;
    let database = DatabaseCopy::make(home, &request.database, progress)?;
    // The copy may lie on the same disk.
    room.check(&place::parent_of(&request.target))?;
    let (partial, file) = Partial::create(&request.target)?;
    let mut maker =
        Maker { home, request, now, progress, room, skipped: Vec::new(), done: 0, own: identity(&file) };
    let sink = BufWriter::with_capacity(256 << 10, file);
    let (sink, key) = match &request.lock {
        Some(lock) => {
            let (sealed, key) = seal::encrypt(lock, sink).map_err(writing)?;
            (maker.write(sealed, &database)?.finish().map_err(stopped)?, Some(key))
        }
        None => (maker.write(sink, &database)?, None),
    };
    let file = sink.into_inner().map_err(|error| stopped(error.into_error()))?;
    file.sync_all().map_err(failed("written", partial.path()))?;
    drop(file);
    let contents = maker.verify(partial.path(), key.as_ref())?;
    let size = fs::metadata(partial.path()).map_err(failed("read", partial.path()))?.len();
    let skipped = maker.skipped;
    partial.keep(&request.target)?;
    let secrets_in_config = aethon_config::secrets_in_file(&request.config);
    let (file, encrypted, database_format) = (request.target.clone(), key.is_some(), database.format);
    Ok(Created {
        file,
        size,
        created_at: now,
        encrypted,
        database_format,
        contents,
        skipped,
        secrets_in_config,
    })
}

/// Refuses a target that exists, or that the next backup would contain.
fn check_target(home: &Home, target: &Path) -> Result<()> {
    if !home.path().exists() {
        return Err(Error::refused(format!(
            "there is no home at {}; name one with --home",
            home.path().display()
        )));
    }
    if fs::symlink_metadata(target).is_ok() {
        return Err(place::exists(target));
    }
    let parent = place::parent_of(target);
    let folder = fs::canonicalize(&parent).map_err(|error| {
        Error::refused(format!("the folder {} cannot be used: {error}", parent.display()))
    })?;
    let archived = FOLDERS.into_iter().chain([CREDENTIALS]);
    for inside in archived.filter_map(|name| fs::canonicalize(home.path().join(name)).ok()) {
        if folder.starts_with(&inside) {
            return Err(Error::refused(format!(
                "{} is inside {}, which is part of every backup, so each would hold those before it: choose another folder",
                target.display(),
                inside.display()
            )));
        }
    }
    Ok(())
}

/// Returns the space that the backup may take.
fn room(home: &Home, request: &Request) -> Room {
    let mut room = Room::default();
    room.add(&home.database());
    FOLDERS.into_iter().for_each(|folder| room.add(&home.path().join(folder)));
    if request.with_secrets {
        room.add(&home.path().join(CREDENTIALS));
    }
    room
}

/// Keeps a second backup of the home out.
fn only_one(home: &Home) -> Result<File> {
    let path = home.run().join("backup.lock");
    let file = private_file::open(&path, OpenOptions::new().write(true)).map_err(failed("opened", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::refused("another backup of this home is being made; try again when it is done"))
        }
        Err(fs::TryLockError::Error(error)) => Err(failed("locked", &path)(error)),
    }
}

/// The copy of the database, removed when dropped.
struct DatabaseCopy {
    path: PathBuf,
    /// The name that it has in the backup; `None` if the home has no database.
    name: Option<&'static str>,
    /// Its format, unless it is on a server.
    format: Option<i64>,
}

impl DatabaseCopy {
    fn make(home: &Home, usage: &DatabaseUse, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Self> {
        if let DatabaseUse::OnServer(url) = usage {
            return Self::of_server(home, url, progress);
        }
        let (source, path) = (home.database(), home.run().join("backup.db"));
        let mut copy = Self { path, name: None, format: None };
        copy.remove();
        let Ok(about) = fs::metadata(&source) else { return Ok(copy) };
        let failing = |error: aethon_store::Error| match error.is_closed() {
            true => interrupted(),
            false => Error::failed(format!("the database cannot be copied: {error}")).because(error),
        };
        if matches!(usage, DatabaseUse::Closed) {
            aethon_store::copy::format(&source)
                .map_err(|error| Error::refused(error.to_string()).because(error))?;
        }
        place::check_space(&home.run(), about.len(), "a copy of the database")?;
        let report = |pages: aethon_store::copy::Progress| {
            progress(Progress { phase: Phase::Database, done: pages.copied, total: pages.total })
        };
        aethon_store::copy::make(&source, &copy.path, report).map_err(failing)?;
        let facts = aethon_store::copy::verify(&copy.path).map_err(failing)?;
        if !facts.problems.is_empty() {
            return Err(Error::failed(format!(
                "the database is damaged, so a backup of it would be no good: {}",
                facts.problems.join("; ")
            )));
        }
        (copy.name, copy.format) = (Some(DATABASE), Some(facts.version));
        Ok(copy)
    }

    /// Writes the rows of the database on a server, as they are at one moment.
    fn of_server(home: &Home, url: &Secret, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Self> {
        let copy = Self { path: home.run().join("backup.jsonl"), name: Some(ROWS), format: None };
        copy.remove();
        let options = &mut OpenOptions::new();
        let file = private_file::open(&copy.path, options.write(true).create(true).truncate(true))
            .map_err(failed("created", &copy.path))?;
        let mut file = BufWriter::new(file);
        let (address, sink) = (url.clone(), &mut file);
        // The rows come from other threads; who asked for the backup is told here how far it is.
        let (report, reports) = std::sync::mpsc::sync_channel::<u64>(8);
        let goes_on = AtomicBool::new(true);
        let written = std::thread::scope(|scope| {
            let goes_on = &goes_on;
            let writer = scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| {
                    Error::failed("the runtime of the backup cannot be started").because(error)
                })?;
                runtime.block_on(async {
                    let opened = ServerRows::open(&address).await;
                    let opened = opened.map_err(|error| Error::failed(error.to_string()).because(error))?;
                    let rows = opened.into_rows();
                    let mut progress = |done| report.send(done).is_ok() && goes_on.load(Ordering::Relaxed);
                    write_lines(&*rows, sink, &mut progress).await
                })
            });
            for done in reports {
                if !progress(Progress { phase: Phase::Database, done, total: 0 }) {
                    goes_on.store(false, Ordering::Relaxed);
                }
            }
            writer.join().unwrap_or_else(|_| Err(Error::failed("the rows cannot be read")))
        });
        if !goes_on.into_inner() {
            return Err(interrupted());
        }
        written?;
        file.into_inner().map_err(|error| stopped(error.into_error()))?;
        Ok(copy)
    }

    fn remove(&self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            // What cannot be removed makes the copy fail, with a better message.
            let _ = fs::remove_file(place::with_suffix(&self.path, suffix));
        }
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        self.remove();
    }
}

struct Maker<'a> {
    home: &'a Home,
    request: &'a Request,
    now: Timestamp,
    progress: &'a mut dyn FnMut(Progress) -> bool,
    room: Room,
    skipped: Vec<Skipped>,
    done: u64,
    /// The file that is being written, by device and inode.
    own: (u64, u64),
}

impl Maker<'_> {
    fn write<Sink: Write>(&mut self, sink: Sink, database: &DatabaseCopy) -> Result<Sink> {
        let mut writer = ArchiveWriter::new(sink, Limits::BACKUP);
        if let Some(name) = database.name {
            self.add_file(&mut writer, name, &database.path)?;
        }
        self.add_file(&mut writer, CONFIG, &self.request.config)?;
        self.add_file(&mut writer, MODELS, &self.home.models())?;
        let folders = FOLDERS.into_iter().chain(self.request.with_secrets.then_some(CREDENTIALS));
        for folder in folders {
            self.add_folder(&mut writer, folder)?;
        }
        let manifest = Manifest {
            format_version: manifest::FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: self.now,
            database_format: database.format,
            with_secrets: self.request.with_secrets,
            entries: writer.sums().clone(),
        };
        let json = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Error::failed("the manifest cannot be written").because(error))?;
        let about = About { size: json.len() as u64, is_executable: false, modified: Some(self.now) };
        writer.add(manifest::NAME, about, &*json).map_err(writing)?;
        writer.finish().map_err(writing)
    }

    /// Adds a single file if it exists.
    fn add_file<Sink: Write>(
        &mut self,
        writer: &mut ArchiveWriter<Sink>,
        name: &str,
        path: &Path,
    ) -> Result<()> {
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = match File::options().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("read", path)(error)),
        };
        let about = file.metadata().map_err(failed("read", path))?;
        if !about.is_file() {
            return Err(Error::refused(format!("{} is not a file", path.display())));
        }
        let modified = about.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        let is_executable = about.permissions().mode() & 0o100 != 0;
        let kept = About { size: about.len(), is_executable, modified };
        let content = Reported { content: file, maker: self };
        writer.add(name, kept, content).map(drop).map_err(writing)
    }

    fn add_folder<Sink: Write>(&mut self, writer: &mut ArchiveWriter<Sink>, folder: &str) -> Result<()> {
        let path = self.home.path().join(folder);
        // A recording that is being written would be cut off; its journal is not, up to its last whole record.
        let is_wanted = |name: &str| !(folder == "recordings/" && name.starts_with("recordings/."));
        let mut visit = |found: Found<'_>| match found {
            Found::Name(name) => Ok(is_wanted(name)),
            Found::Bytes(bytes) => self.report(bytes).map(|()| true),
        };
        let skipped = add_folder(writer, &path, folder, &mut visit).map_err(writing)?;
        self.skipped.extend(skipped);
        Ok(())
    }

    fn report(&mut self, bytes: u64) -> io::Result<()> {
        self.done += bytes;
        self.room.keep_reserve(bytes, &place::parent_of(&self.request.target))?;
        let goes_on = (self.progress)(Progress { phase: Phase::Files, done: self.done, total: 0 });
        if goes_on { Ok(()) } else { Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it was stopped")) }
    }

    /// Opens the written file, and checks all of it.
    fn verify(&mut self, path: &Path, key: Option<&Key>) -> Result<Summary> {
        let file = File::open(path).map_err(failed("read", path))?;
        if identity(&file) != self.own {
            return Err(Error::failed(format!("{} was replaced while it was written", path.display())));
        }
        let progress = &mut *self.progress;
        let mut report = |done, total| progress(Progress { phase: Phase::Checking, done, total });
        let checked = match key {
            Some(key) => seal::decrypt(file, key).and_then(|source| check(&mut read(source)?, &mut report)),
            None => read(file).and_then(|mut opened| check(&mut opened, &mut report)),
        };
        checked.map(|checked| checked.contents).map_err(|error| match error.io_kind() {
            Some(io::ErrorKind::ConnectionAborted) => interrupted(),
            _ => Error::failed(format!("the backup that was written is damaged: {error}; check the disk"))
                .because(error),
        })
    }
}

fn identity(file: &File) -> (u64, u64) {
    file.metadata().map_or((0, 0), |about| (about.dev(), about.ino()))
}

fn writing(error: aethon_archive::Error) -> Error {
    if error.is_wrong_key() {
        return Error::refused(error.to_string());
    }
    match error.io_kind() {
        Some(io::ErrorKind::ConnectionAborted) => interrupted(),
        Some(io::ErrorKind::StorageFull) => Error::failed(
            "the disk is full or nearly so, so there is no backup: free some space, or choose another folder",
        )
        .because(error),
        _ => Error::failed(format!("the backup cannot be written: {error}")).because(error),
    }
}

fn stopped(error: io::Error) -> Error {
    writing(error.into())
}

fn interrupted() -> Error {
    Error::failed("the backup was stopped before it was done")
}

/// A file whose reading is reported.
struct Reported<'m, 'a> {
    content: File,
    maker: &'m mut Maker<'a>,
}

impl Read for Reported<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        self.maker.report(read as u64)?;
        Ok(read)
    }
}
