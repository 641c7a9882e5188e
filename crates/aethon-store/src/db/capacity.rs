//! The largest size of the file, which SQLite keeps by itself, and what can be done once it is reached.
//!
//! SQLite says "full" for a file at its limit and for a full disk alike. Which of the two it was is found out by running
//! the job once more without the limit, and undoing it: that also tells how much room it lacked. Removing needs a little
//! room too, so it may go slightly beyond the limit.

use rusqlite::Connection;

use super::job::Job;
use super::sql::Sql;
use crate::error::Error;

/// How many pages beyond the limit removing may take, until the removed pages are free.
const HEADROOM: i64 = 256;

/// The largest number of pages of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    bytes: u64,
    pages: i64,
}

impl Capacity {
    /// Limits the file of this connection to a number of bytes.
    pub(super) fn set(connection: &Connection, bytes: u64) -> Result<Self, Error> {
        let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let this = Self { bytes, pages: i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1) };
        this.allow(connection, this.pages)?;
        Ok(this)
    }

    /// The error of a write that found the file full.
    pub(super) fn reached(self) -> Error {
        Error::at_capacity(self.bytes)
    }

    /// Runs work that removes something, which may take some pages for the time being.
    pub(super) fn with_headroom<T>(
        self,
        sql: &Sql<'_>,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.allow(sql.connection(), self.pages.saturating_add(HEADROOM))?;
        let done = work();
        self.allow(sql.connection(), self.pages)?;
        done
    }

    /// Returns how many pages a job lacks that found no room; `None` if the limit is not why. Nothing of it is kept.
    pub(super) fn lacking(self, sql: &Sql<'_>, job: &mut dyn Job) -> Option<i64> {
        self.allow(sql.connection(), i64::MAX).ok()?;
        let lacking = self.try_without(sql, job);
        // Even if this failed, the next attempt would only find more room than it should.
        self.allow(sql.connection(), self.pages).ok()?;
        lacking.ok().flatten()
    }

    fn try_without(self, sql: &Sql<'_>, job: &mut dyn Job) -> Result<Option<i64>, Error> {
        sql.execute("BEGIN IMMEDIATE", [])?;
        // A file that is larger than its limit already, because the limit was lowered, cannot shrink below its size.
        let before = pages(sql);
        job.run(sql);
        let is_done = job.failure().is_none();
        let pages = pages(sql);
        sql.roll_back();
        Ok(Some(pages? - self.pages.max(before?)).filter(|lacking| is_done && *lacking > 0))
    }

    fn allow(self, connection: &Connection, pages: i64) -> Result<(), Error> {
        // SQLite has no more than this many pages anyway.
        let pages = pages.min(i64::from(u32::MAX) - 1);
        Ok(connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?)
    }
}

/// Returns the number of pages of the file, free ones included.
fn pages(sql: &Sql<'_>) -> Result<i64, Error> {
    Ok(sql.one("PRAGMA page_count", [], |row| row.get(0))?)
}

/// Returns the number of free pages in the file.
pub(crate) fn free_pages(sql: &Sql<'_>) -> Result<i64, Error> {
    Ok(sql.one("PRAGMA freelist_count", [], |row| row.get(0))?)
}

/// Returns how many bytes of the file are in use. Free pages are not: they are used before the file grows.
pub(crate) fn used_bytes(sql: &Sql<'_>) -> Result<u64, Error> {
    let page: i64 = sql.one("PRAGMA page_size", [], |row| row.get(0))?;
    Ok((pages(sql)? - free_pages(sql)?).saturating_mul(page).unsigned_abs())
}
