//! What is remembered from one run of the program to the next, a number a name.
//!
//! The `latest` mark is a time that nothing was stored after. It runs ahead of the clock by [`AHEAD`], so that it is
//! written once a minute and not with every turn, and it never falls: what is numbered by the time stays above what was
//! numbered before, also when the clock was set back between two runs.

use aethon_core::storage::Marks;

use crate::db::Sql;
use crate::error::Error;
use crate::time::from_millis;

/// How far the latest mark is ahead of the write that set it, in milliseconds.
const AHEAD: i64 = 60_000;

const LATEST: &str = "latest";
const MAINTAINED_AT: &str = "maintained_at";

/// What is remembered.
pub(crate) fn read(sql: &Sql<'_>) -> Result<Marks, Error> {
    const VALUE: &str = "SELECT value FROM marks WHERE name = ?1";
    let time = |name| sql.first(VALUE, [name], |row| row.get(0).map(from_millis));
    Ok(Marks { maintained_at: time(MAINTAINED_AT)?, latest: time(LATEST)? })
}

/// The mark to set for a write that is made now; `None` while the one that was set last is still ahead of it.
pub(crate) fn due(last: i64, now: i64) -> Option<i64> {
    (now >= last).then(|| now.saturating_add(AHEAD))
}

/// Sets the latest mark, unless a later one is set.
pub(crate) fn raise_latest(sql: &Sql<'_>, to: i64) -> Result<(), Error> {
    const RAISE: &str = "INSERT INTO marks VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = max(value, ?2)";
    sql.execute(RAISE, (LATEST, to))?;
    Ok(())
}

/// Notes that the upkeep came to its end.
pub(crate) fn note_upkeep(sql: &Sql<'_>, now: i64) -> Result<(), Error> {
    const NOTE: &str = "INSERT INTO marks VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2";
    sql.execute(NOTE, (MAINTAINED_AT, now))?;
    Ok(())
}

/// Writes a little, to see whether that works. Nothing is left to do.
pub(crate) fn probe(sql: &Sql<'_>) -> Result<bool, Error> {
    const COUNT: &str = "INSERT INTO marks VALUES ('probes', 1) ON CONFLICT DO UPDATE SET value = value + 1";
    sql.execute(COUNT, [])?;
    Ok(false)
}
