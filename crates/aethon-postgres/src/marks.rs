//! Named numbers that outlive the process.
//!
//! The `latest` mark is a time after which nothing was stored. It runs ahead of the clock by [`AHEAD`], so that it is
//! written once a minute and not with every turn. It never decreases: ids derived from the time stay above earlier ones
//! even if the clock was set back between two runs.

use aethon_core::storage::StorageMarks;
use jiff::Timestamp;

use crate::db::Sql;
use crate::error::Error;
use crate::time::{days, from_millis, to_millis};

/// How far the latest mark is set ahead of the write that raises it, in milliseconds.
const AHEAD: i64 = 60_000;

const LATEST: &str = "latest";
const MAINTAINED_AT: &str = "maintained_at";
const JOBS_SEEN: &str = "jobs_seen";
const PURGE_CLOCK: &str = "purge_clock";
/// Reads all marks.
pub(crate) fn read(sql: &Sql<'_>) -> Result<StorageMarks, Error> {
    Ok(StorageMarks {
        maintained_at: value(sql, MAINTAINED_AT)?,
        latest: value(sql, LATEST)?,
        // There are no databases of a version without these limits.
        defaults_wait: None,
    })
}

/// Returns the mark to set for a write at `now`; `None` if the last one set is still ahead of it.
pub(crate) fn due(last: i64, now: i64) -> Option<i64> {
    (now >= last).then(|| now.saturating_add(AHEAD))
}

/// Raises the latest mark; never lowers it.
pub(crate) fn raise_latest(sql: &Sql<'_>, to: i64) -> Result<(), Error> {
    const RAISE: &str = "INSERT INTO marks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = greatest(marks.value, $2)";
    sql.execute(RAISE, (LATEST, to))?;
    Ok(())
}

/// Notes that maintenance has completed.
pub(crate) fn note_upkeep(sql: &Sql<'_>, now: i64) -> Result<(), Error> {
    set(sql, MAINTAINED_AT, now)
}

/// Returns the time up to which due jobs were seen.
pub(crate) fn jobs_seen(sql: &Sql<'_>) -> Result<Option<Timestamp>, Error> {
    value(sql, JOBS_SEEN)
}

/// Notes up to when due jobs were seen. Returns the time noted before.
pub(crate) fn note_jobs_seen(sql: &Sql<'_>, through: i64) -> Result<Option<Timestamp>, Error> {
    let before = jobs_seen(sql)?;
    set(sql, JOBS_SEEN, through)?;
    Ok(before)
}

/// Moves the time up to which rows have aged towards the clock and returns it. It moves by a day at most: if the clock leaps,
/// what would be too old only by the leap stays, for as long as anybody needs to notice.
pub(crate) fn advance_purge_clock(sql: &Sql<'_>, now: i64) -> Result<i64, Error> {
    let last = value(sql, PURGE_CLOCK)?.or(value(sql, MAINTAINED_AT)?).map_or(now, to_millis);
    let aged = now.min(last.saturating_add(days(1)));
    set(sql, PURGE_CLOCK, aged)?;
    Ok(aged)
}

fn value(sql: &Sql<'_>, name: &str) -> Result<Option<Timestamp>, Error> {
    Ok(number(sql, name)?.map(from_millis))
}

fn number(sql: &Sql<'_>, name: &str) -> Result<Option<i64>, Error> {
    const VALUE: &str = "SELECT value FROM marks WHERE name = $1";
    sql.first(VALUE, [name], |row| row.get(0))
}

fn set(sql: &Sql<'_>, name: &str, value: i64) -> Result<(), Error> {
    const SET: &str = "INSERT INTO marks VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
    sql.execute(SET, (name, value))?;
    Ok(())
}

/// Writes a little, to test that writing works.
pub(crate) fn probe(sql: &Sql<'_>) -> Result<(), Error> {
    const COUNT: &str =
        "INSERT INTO marks VALUES ('probes', 1) ON CONFLICT (name) DO UPDATE SET value = marks.value + 1";
    sql.execute(COUNT, [])?;
    Ok(())
}
