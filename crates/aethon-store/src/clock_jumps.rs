//! Repairs timestamps that a clock set too far ahead left in the database.
//!
//! A time in the future of the row's own making is a wrong clock's. Its deadlines are moved back by as much as it is ahead, so
//! that what was to wait an hour waits an hour.

use crate::db::Sql;
use crate::error::Error;
use crate::time::days;

/// No channel remembers anything for longer on purpose.
const MAX_RECORD_DAYS: u32 = 400;

/// Moves times that lie in the future back: of sessions, deliveries, dedupe ids and channel records.
pub(crate) fn undo_future_times(sql: &Sql<'_>, now: i64) -> Result<(), Error> {
    const SESSIONS: &str = "UPDATE sessions SET updated_at = ?1 WHERE updated_at > ?1";
    const BIN: &str = "UPDATE binned_sessions SET deleted_at = ?1 WHERE deleted_at > ?1";
    const DEDUPE: &str = "UPDATE turns SET dedupe_until = dedupe_until - (accepted_at - ?1), accepted_at = ?1
        WHERE dedupe_until > ?1 AND accepted_at > ?1";
    const RECORDS: &str = "UPDATE channel_records SET until = ?1 + ?2 WHERE until > ?1 + ?2";
    sql.execute(SESSIONS, [now])?;
    sql.execute(BIN, [now])?;
    undo_future_deliveries(sql, now)?;
    sql.execute(DEDUPE, [now])?;
    sql.execute(RECORDS, [now, days(MAX_RECORD_DAYS)])?;
    Ok(())
}

/// Moves deliveries back. Few rows wait, so this is cheap enough for every start: due deliveries must not wait for the upkeep.
pub(crate) fn undo_future_deliveries(sql: &Sql<'_>, now: i64) -> Result<(), Error> {
    const DELIVERIES: &str =
        "UPDATE outbox SET due_at = min(due_at, ?1), expires_at = expires_at - (created_at - ?1),
        created_at = ?1 WHERE due_at IS NOT NULL AND created_at > ?1";
    sql.execute(DELIVERIES, [now])?;
    Ok(())
}
