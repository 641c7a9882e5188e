//! Named numbers that outlive the process.
//!
//! The `latest` mark is a time after which nothing was stored. It runs ahead of the clock by [`AHEAD`], so that it is
//! written once a minute and not with every turn. It never decreases: ids derived from the time stay above earlier ones
//! even if the clock was set back between two runs.

use std::time::Duration;

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
/// The uptime since an upgrade that brought new default limits, in milliseconds; only while they wait.
const DEFAULTS_WAIT: &str = "defaults_wait";

/// The last format with default limits that the one before did not have.
const NEWEST_LIMITS: i64 = 18;

/// For how long the owner of an upgraded database is warned before new default limits hold, in milliseconds of uptime.
const WARNING: i64 = 7 * 24 * 3_600_000;

/// Reads all marks.
pub(crate) fn read(sql: &Sql<'_>) -> Result<StorageMarks, Error> {
    Ok(StorageMarks {
        maintained_at: value(sql, MAINTAINED_AT)?,
        latest: value(sql, LATEST)?,
        defaults_wait: defaults_wait(sql)?,
    })
}

/// Lets new default limits wait, after an upgrade from version `from`.
pub(crate) fn begin_defaults_wait(sql: &Sql<'_>, from: i64) -> Result<(), Error> {
    const BEGIN: &str = "INSERT INTO marks VALUES (?1, 0) ON CONFLICT DO NOTHING";
    if from < NEWEST_LIMITS {
        sql.execute(BEGIN, [DEFAULTS_WAIT])?;
    }
    Ok(())
}

/// For how much more uptime new default limits wait; `None` if they hold.
pub(crate) fn defaults_wait(sql: &Sql<'_>) -> Result<Option<Duration>, Error> {
    let uptime = number(sql, DEFAULTS_WAIT)?;
    let left =
        uptime.map(|uptime| Duration::from_millis(WARNING.saturating_sub(uptime).max(0).unsigned_abs()));
    Ok(left.filter(|left| !left.is_zero()))
}

/// Counts uptime for the limits that wait.
pub(crate) fn note_uptime(sql: &Sql<'_>, millis: i64) -> Result<(), Error> {
    const COUNT: &str = "UPDATE marks SET value = value + ?2 WHERE name = ?1";
    const END: &str = "DELETE FROM marks WHERE name = ?1 AND value >= ?2";
    sql.execute(COUNT, (DEFAULTS_WAIT, millis))?;
    sql.execute(END, (DEFAULTS_WAIT, WARNING))?;
    Ok(())
}

/// Returns the mark to set for a write at `now`; `None` if the last one set is still ahead of it.
pub(crate) fn due(last: i64, now: i64) -> Option<i64> {
    (now >= last).then(|| now.saturating_add(AHEAD))
}

/// Raises the latest mark; never lowers it.
pub(crate) fn raise_latest(sql: &Sql<'_>, to: i64) -> Result<(), Error> {
    const RAISE: &str = "INSERT INTO marks VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = max(value, ?2)";
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
    const VALUE: &str = "SELECT value FROM marks WHERE name = ?1";
    Ok(sql.first(VALUE, [name], |row| row.get(0))?)
}

fn set(sql: &Sql<'_>, name: &str, value: i64) -> Result<(), Error> {
    const SET: &str = "INSERT INTO marks VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2";
    sql.execute(SET, (name, value))?;
    Ok(())
}

/// Writes a little, to test that writing works. Returns `false`: nothing is left to do.
pub(crate) fn probe(sql: &Sql<'_>) -> Result<bool, Error> {
    const COUNT: &str = "INSERT INTO marks VALUES ('probes', 1) ON CONFLICT DO UPDATE SET value = value + 1";
    sql.execute(COUNT, [])?;
    Ok(false)
}
