//! The folder of records, one private file each.
//!
//! A record is complete before it has its name. It is written before the file is changed: a program that is killed in between leaves
//! a record of a change that never happened, which does no harm (`chain`). With `storage.files = "database"`, each record is copied
//! to the storage, and those of other instances are fetched from there.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use aethon_core::clock::Clock;
use aethon_core::error::{Error, Result};
use aethon_core::file_copies::FileCopies;
use aethon_core::ids::{SessionId, TurnId, unique};
use aethon_core::turn::Trust;
use aethon_files::Directory;
use jiff::Timestamp;

use super::record::{Content, Earlier, Head, Record, RecordName, decode, encode, first_line};
use super::room::{self, Entry, Limits, MAX_KEPT, Used};

/// How much of a record is read to find the end of its first line, and how long that line may be at most.
const USUAL_HEAD: usize = 16 << 10;
const MAX_HEAD: usize = 1 << 20;
/// The most names that are looked at.
const MAX_NAMES: usize = 20_000;

/// The changes that tools have made to files, with what the files were before.
#[derive(Clone)]
pub struct ChangeJournal {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    /// Where other instances find them, too.
    copies: Option<Arc<dyn FileCopies>>,
}

/// A record that was written.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) record: RecordName,
    /// Whether what the file was can be made of it again.
    pub(crate) is_kept: bool,
}

impl ChangeJournal {
    /// Opens this folder, which is created when needed.
    pub fn new(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self { folder: folder.into(), clock, copies: None }
    }

    /// The same, with a copy of each record for other instances, and theirs for this one.
    #[must_use]
    pub fn with_copies(self, copies: Option<Arc<dyn FileCopies>>) -> Self {
        Self { copies, ..self }
    }

    /// Removes the records that are too old or for which there is no room, and returns them. Blocks.
    pub(crate) fn make_room(&self) -> io::Result<Vec<RecordName>> {
        self.existing()?.map_or_else(|| Ok(Vec::new()), |folder| make_room(&folder, self.now()))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Writes a record with the content that the file had; the caller [makes room](Self::make_room) afterwards. `None` if its turn
    /// has changed too many files already. Blocks.
    pub(crate) fn write(
        &self,
        mut head: Head,
        before: &Content,
        after: Option<&[u8]>,
        trust: Trust,
    ) -> io::Result<Option<Written>> {
        let folder = self.made()?;
        let name = RecordName::new(&unique(), &head, !trust.is_owner());
        let (entries, limits) = (entries(&folder)?, Limits::of(&head.act));
        let used = Used::of(entries.iter().filter(|entry| entry.name.turn() == name.turn()));
        if used.records >= limits.records {
            return Ok(None);
        }
        let left = usize::try_from(limits.bytes.saturating_sub(used.bytes)).unwrap_or(usize::MAX);
        head.earlier = Earlier::of(before, after, left.min(limits.file));
        folder.write(name.as_str(), &encode(&head, before)?)?;
        Ok(Some(Written { record: name, is_kept: head.earlier != Earlier::NotKept }))
    }

    /// Returns the records of a session, oldest first. Blocks.
    pub(crate) fn records(&self, session: &SessionId) -> io::Result<Vec<Record>> {
        let mut records = self.opened(|name| name.is_of(session))?;
        // Two sessions whose digests begin alike are told apart here.
        records.retain(|record| record.head.session == *session);
        Ok(records)
    }

    /// Returns whether the owner has put a file back since the beginning of a turn of a session. No older record is opened. Blocks.
    pub(crate) fn has_put_back_since(&self, session: &SessionId, turn: &TurnId) -> io::Result<bool> {
        // Ids of records and of turns grow with the same time.
        let newer = self.opened(|name| name.is_of(session) && name.id() > turn.as_str())?;
        Ok(newer.iter().any(Record::is_put_back))
    }

    /// Returns the records of all other sessions. Blocks.
    pub(crate) fn records_of_others(&self, session: &SessionId) -> io::Result<Vec<Record>> {
        self.opened(|name| !name.is_of(session))
    }

    /// Opens the records whose names fit.
    fn opened(&self, fits: impl Fn(&RecordName) -> bool) -> io::Result<Vec<Record>> {
        let Some(folder) = self.existing()? else { return Ok(Vec::new()) };
        let names = names(&folder)?.into_iter().filter(fits);
        Ok(names.filter_map(|name| Some(Record { head: head(&folder, &name)?, name })).collect())
    }

    /// Returns what a record keeps of the content that its file had; `None` if that is nothing. Blocks.
    pub(crate) fn kept(&self, record: &Record) -> io::Result<Option<Vec<u8>>> {
        if !matches!(record.head.earlier, Earlier::Whole | Earlier::End) {
            return Ok(None);
        }
        let bytes = self.bytes(&record.name)?;
        Ok(bytes.and_then(|bytes| decode(&bytes).map(|(_, content)| content.to_vec())))
    }

    /// Removes records. Blocks.
    pub(crate) fn remove(&self, names: &[RecordName]) -> io::Result<()> {
        let Some(folder) = self.existing()? else { return Ok(()) };
        names.iter().try_for_each(|name| folder.remove(name.as_str()).map(drop))
    }

    /// Gives the records of a session to another one: those from before `until`, if that is given. Returns those that were written
    /// and those that are gone. Blocks.
    pub(crate) fn hand_over(
        &self,
        from: &SessionId,
        to: &SessionId,
        until: Option<Timestamp>,
    ) -> io::Result<(Vec<RecordName>, Vec<RecordName>)> {
        let (mut written, mut gone) = (Vec::new(), Vec::new());
        let Some(folder) = self.existing()? else { return Ok((written, gone)) };
        for record in self.records(from)? {
            if until.is_some_and(|until| record.head.at >= until) {
                continue;
            }
            let Some(bytes) = self.bytes(&record.name)? else { continue };
            let Some((head, kept)) = decode(&bytes) else { continue };
            let head = Head { session: to.clone(), ..head };
            let name = RecordName::new(record.name.id(), &head, record.name.is_strangers());
            folder.write(name.as_str(), &[&first_line(&head)?[..], kept].concat())?;
            folder.remove(record.name.as_str())?;
            written.push(name);
            gone.push(record.name);
        }
        Ok((written, gone))
    }

    /// Returns a record of each session. Blocks.
    pub(crate) fn sessions(&self) -> io::Result<Vec<SessionId>> {
        let Some(folder) = self.existing()? else { return Ok(Vec::new()) };
        let mut names = names(&folder)?;
        names.sort_by(|one, other| one.session().cmp(other.session()));
        names.dedup_by(|one, other| one.session() == other.session());
        Ok(names.iter().filter_map(|name| Some(head(&folder, name)?.session)).collect())
    }

    /// Returns the names of a session's records. Blocks.
    pub(crate) fn names_of(&self, session: &SessionId) -> io::Result<Vec<RecordName>> {
        let Some(folder) = self.existing()? else { return Ok(Vec::new()) };
        Ok(names(&folder)?.into_iter().filter(|name| name.is_of(session)).collect())
    }

    /// Has the records of a session in the folder that other instances have written. Without them, those of this one count.
    pub(crate) async fn fetch(&self, session: &SessionId) {
        let Some(copies) = &self.copies else { return };
        if let Err(error) = self.fetch_from(copies.as_ref(), session).await {
            tracing::warn!(%error, "changes that another instance kept cannot be fetched");
        }
    }

    async fn fetch_from(&self, copies: &dyn FileCopies, session: &SessionId) -> Result<()> {
        let failed =
            |error: io::Error| Error::unavailable(format!("the folder of changes cannot be used: {error}"));
        let own = self.clone();
        let here = {
            let session = session.clone();
            blocking(move || own.names_of(&session)).await.map_err(failed)?
        };
        for copy in copies.list().await? {
            let Some(name) = RecordName::parse(&copy.name).filter(|name| name.is_of(session)) else {
                continue;
            };
            let (is_here, own) = (here.contains(&name), self.clone());
            if copy.is_removed && is_here {
                blocking(move || own.remove(&[name])).await.map_err(failed)?;
            } else if !copy.is_removed
                && !is_here
                && let Some(content) = copies.get(&copy.name).await?
            {
                blocking(move || own.take_in(&name, &content)).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Tells other instances what has changed in the folder. Without that, the records are there for this one.
    pub(crate) async fn share(&self, written: &[RecordName], removed: &[RecordName]) {
        let Some(copies) = &self.copies else { return };
        if let Err(error) = self.share_with(copies.as_ref(), written, removed).await {
            tracing::warn!(%error, "changes of files cannot be copied for other instances");
        }
    }

    async fn share_with(
        &self,
        copies: &dyn FileCopies,
        written: &[RecordName],
        removed: &[RecordName],
    ) -> Result<()> {
        let until = Timestamp::try_from(room::end(SystemTime::from(self.clock.now()))).ok();
        for name in written {
            let (own, wanted) = (self.clone(), name.clone());
            let read = blocking(move || own.bytes(&wanted)).await;
            if let Ok(Some(bytes)) = read {
                copies.put(name.as_str(), bytes, until).await?;
            }
        }
        for name in removed {
            copies.remove(name.as_str()).await?;
        }
        Ok(())
    }

    fn bytes(&self, name: &RecordName) -> io::Result<Option<Vec<u8>>> {
        let Some(folder) = self.existing()? else { return Ok(None) };
        let read = folder.read(name.as_str(), MAX_HEAD + MAX_KEPT).map_err(|refusal| refusal.into_io())?;
        Ok(read.filter(|read| read.is_whole).map(|read| read.bytes))
    }

    fn take_in(&self, name: &RecordName, content: &[u8]) -> io::Result<()> {
        let folder = self.made()?;
        folder.write(name.as_str(), content)?;
        make_room(&folder, self.now()).map(drop)
    }

    fn made(&self) -> io::Result<Directory> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        Directory::open(&self.folder)
    }

    fn existing(&self) -> io::Result<Option<Directory>> {
        match Directory::open(&self.folder) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn make_room(folder: &Directory, now: Timestamp) -> io::Result<Vec<RecordName>> {
    let gone = room::surplus(entries(folder)?, SystemTime::from(now));
    for name in &gone {
        folder.remove(name.as_str())?;
    }
    Ok(gone)
}

/// Runs `work` on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other("the program is stopping")))
}

fn names(folder: &Directory) -> io::Result<Vec<RecordName>> {
    let names = folder.names(".change", MAX_NAMES, MAX_NAMES)?;
    let own = |name: OsString| RecordName::parse(name.to_str()?);
    Ok(names.into_iter().filter_map(own).collect())
}

fn entries(folder: &Directory) -> io::Result<Vec<Entry>> {
    let entry = |name: RecordName| {
        let stamp = folder.stamp_of(name.as_str())?;
        Some(Entry { modified: stamp.modified(), bytes: stamp.length(), name })
    };
    Ok(names(folder)?.into_iter().filter_map(entry).collect())
}

fn head(folder: &Directory, name: &RecordName) -> Option<Head> {
    // Most heads are short, and the content behind them need not be read.
    [USUAL_HEAD, MAX_HEAD].into_iter().find_map(|limit| {
        let read = folder.read(name.as_str(), limit).ok()??;
        decode(&read.bytes).map(|(head, _)| head)
    })
}
