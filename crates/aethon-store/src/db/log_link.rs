//! Ties the write-ahead log to its database, so that a log of another database is recognised before SQLite mixes the two.
//!
//! SQLite replays whatever log lies beside a database. If a copy of the database is put back and the log of
//! the newer one stays there, pages of both end up in one file, and it is damaged. Nothing in the two files says that they do not
//! belong together, so this module adds it.
//!
//! The table `log_link` holds two random marks: that of the newest log, and the one before it. The first commit of each log
//! sets a new mark ([`LogMarks`]), which therefore stands in the log itself together with its predecessor. The main file
//! changes only by copying pages of the log into it, and a log is restarted only once all of it has been copied. So the mark
//! in the main file is either the predecessor of the first mark in the log, or a mark of the log. Any other mark means that
//! the log belongs to another file, or to another time of this one.
//!
//! [`check`] reads both files directly. The row is the last thing on its page, so the page is recognised without a schema. In
//! a log that belongs to the file the search ends at the first mark, which is among the first pages. Logs without a mark, of
//! programs that do not set it, are accepted.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::job::Job;
use super::sibling::beside;
use super::sql::Sql;
use crate::error::Error;

/// The first half of the BLOB. It is not valid UTF-8, so no stored text contains it.
const TAG: [u8; 16] = *b"\xFF\xAEth\xFELog\xFDLink\xFC\xFB\xFA";

/// The size of the BLOB.
const LINK: usize = 32;

const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The magic numbers of a log, without their last bit, which tells the byte order of the checksums.
const LOG_MAGIC: u32 = 0x377f_0682;

/// The first byte of a page that is a leaf of a table.
const TABLE_LEAF: u8 = 0x0d;

/// How often to look again if the files change meanwhile: another process has them open, and checked them.
const MAX_LOOKS: u32 = 3;

/// Sets the marks while the database is open.
pub(super) struct LogMarks {
    log: PathBuf,
    /// The open log, once it exists. SQLite takes no locks on this file, so it is safe to open and close it.
    file: Option<File>,
    /// The log as it was when its mark was set.
    marked: Option<Salts>,
    is_due: bool,
}

/// What SQLite changes whenever a log is restarted.
type Salts = [u8; 8];

impl LogMarks {
    pub(super) fn new(database: &Path) -> Self {
        Self { log: beside(database, "-wal"), file: None, marked: None, is_due: true }
    }

    /// Returns whether the next commit must set a mark.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Called after a commit or a checkpoint. Returns whether the log holds a commit but no mark yet.
    pub(super) fn observe(&mut self, was_marked: bool) -> bool {
        let now = self.salts();
        if was_marked {
            self.marked = now;
        }
        // An emptied log has no header; a file system without shared memory has no log.
        self.is_due = self.file.is_some() && (now.is_none() || now != self.marked);
        self.is_due && now.is_some()
    }

    fn salts(&mut self) -> Option<Salts> {
        if self.file.is_none() {
            self.file = File::open(&self.log).ok();
        }
        let mut salts = Salts::default();
        self.file.as_ref()?.read_exact_at(&mut salts, 16).ok()?;
        Some(salts)
    }
}

/// Sets a mark as the last job of a group, if the others wrote something.
pub(super) struct MarkJob {
    /// The changes of the connection before the group.
    changes_before: u64,
    /// Set once the mark is committed.
    is_stored: Arc<AtomicBool>,
    has_marked: bool,
    failure: Option<Error>,
}

impl MarkJob {
    pub(super) fn new(sql: &Sql<'_>, is_stored: Arc<AtomicBool>) -> Self {
        let changes_before = sql.connection().total_changes();
        Self { changes_before, is_stored, has_marked: false, failure: None }
    }
}

impl Job for MarkJob {
    fn run(&mut self, sql: &Sql<'_>) {
        self.has_marked = sql.connection().total_changes() != self.changes_before;
        self.failure = if self.has_marked { mark(sql).err() } else { None };
    }

    fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }

    fn answer(self: Box<Self>, group: Result<(), Error>) {
        // A failure is that of the whole group, whose other jobs report it; the next commit tries again.
        let is_stored = self.has_marked && self.failure.is_none() && group.is_ok();
        self.is_stored.store(is_stored, Ordering::Relaxed);
    }
}

/// Sets a new mark, within a transaction.
pub(crate) fn mark(sql: &Sql<'_>) -> Result<(), Error> {
    const READ: &str = "SELECT link FROM log_link WHERE id = 1";
    const WRITE: &str = "UPDATE log_link SET link = ?1 WHERE id = 1";
    let known: Vec<u8> = sql.one(READ, [], |row| row.get(0))?;
    let before = known.get(16..24).unwrap_or(&[0; 8]);
    let link = [&TAG[..], &fresh().to_be_bytes(), before].concat();
    sql.execute(WRITE, [link])?;
    Ok(())
}

/// A random number. Marks need not be hard to guess, only different; the standard library seeds this from the system.
fn fresh() -> u64 {
    RandomState::new().hash_one(std::process::id()).max(1)
}

/// Refuses a database beside a log that is not its own. Both files are only read.
pub(super) fn check(database: &Path) -> Result<(), Error> {
    let log_path = beside(database, "-wal");
    let unreadable = |error| Error::file("could not read", database, error);
    // Opening a pipe would wait. SQLite cannot open special files either, and reports that.
    if !std::fs::metadata(&log_path).is_ok_and(|about| about.is_file() && about.len() > LOG_HEADER as u64) {
        return Ok(());
    }
    let Ok(log) = File::open(&log_path) else { return Ok(()) };
    let main = File::open(database).map_err(unreadable)?;
    for _ in 0..MAX_LOOKS {
        match look(&main, &log).map_err(unreadable)? {
            Look::Own => return Ok(()),
            Look::Changing => {}
            Look::Foreign => return Err(Error::foreign_log(database)),
        }
    }
    Ok(())
}

/// The result of one look at both files.
enum Look {
    Own,
    Foreign,
    /// The log was restarted meanwhile.
    Changing,
}

/// The header of a log.
#[derive(PartialEq, Eq)]
struct LogHeader {
    page_size: usize,
    salts: Salts,
}

impl LogHeader {
    fn read(log: &File) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; LOG_HEADER];
        match log.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let page_size = number(8) as usize;
        // SQLite ignores such a log as well.
        if number(0) & !1 != LOG_MAGIC || !page_size.is_power_of_two() || !(512..=65_536).contains(&page_size)
        {
            return Ok(None);
        }
        let mut salts = Salts::default();
        salts.copy_from_slice(&bytes[16..24]);
        Ok(Some(Self { page_size, salts }))
    }
}

fn look(main: &File, log: &File) -> std::io::Result<Look> {
    let Some(header) = LogHeader::read(log)? else { return Ok(Look::Own) };
    let (mut acceptable, mut page_number) = (Vec::new(), 0);
    let mut frame = vec![0; FRAME_HEADER + header.page_size];
    let mut at = LOG_HEADER as u64;
    while is_filled(log, &mut frame, at)? && frame[8..16] == header.salts {
        at += frame.len() as u64;
        let Some(link) = link_of(&frame[FRAME_HEADER..]) else { continue };
        if acceptable.is_empty() {
            page_number = u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
            acceptable.push(link.before);
        }
        acceptable.push(link.newest);
        if acceptable.contains(&mark_at(main, header.page_size, page_number)?) {
            return Ok(Look::Own);
        }
    }
    if acceptable.is_empty() {
        return Ok(Look::Own);
    }
    // `VACUUM` moves the page. This reads the whole file, but only before a refusal.
    let mut page = vec![0; header.page_size];
    let mut number = 0;
    while is_filled(main, &mut page, number * header.page_size as u64)? {
        number += 1;
        if link_of(&page).is_some_and(|link| acceptable.contains(&link.newest)) {
            return Ok(Look::Own);
        }
    }
    Ok(if LogHeader::read(log)?.as_ref() == Some(&header) { Look::Foreign } else { Look::Changing })
}

/// Returns the mark on a page of the main file; 0 if the page holds none, as in a file from before there were marks.
fn mark_at(main: &File, page_size: usize, page_number: u32) -> std::io::Result<u64> {
    let mut page = vec![0; page_size];
    let at = u64::from(page_number.max(1) - 1) * page_size as u64;
    let is_there = is_filled(main, &mut page, at)?;
    Ok(link_of(&page).filter(|_| is_there).map_or(0, |link| link.newest))
}

struct Link {
    newest: u64,
    before: u64,
}

/// Reads the marks if this is the page of `log_link`.
fn link_of(page: &[u8]) -> Option<Link> {
    let is_leaf_with_one_row = page.first() == Some(&TABLE_LEAF) && page.get(3..5) == Some(&[0, 1]);
    let (tag, marks) = page.last_chunk::<LINK>()?.split_at(TAG.len());
    if !is_leaf_with_one_row || tag != TAG {
        return None;
    }
    let (newest, before) = marks.split_at(8);
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
    Some(Link { newest: number(newest)?, before: number(before)? })
}

/// Fills the buffer from this offset; `false` if the file ends before.
fn is_filled(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<bool> {
    match file.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
