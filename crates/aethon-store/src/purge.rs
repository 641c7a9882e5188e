//! Removes conversations in small steps.
//!
//! The first step detaches the session's row, which is quick however long the conversation is: from then on no reader sees
//! its messages. They are deleted later, a few at a time, between other people's turns. After a crash, the next idle
//! moment continues.

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::turns::Forget;
use crate::{listing, outbox, search, sessions, turns};
use aethon_core::session::Clear;

/// Messages (and then turns) deleted per step.
const STEP: i64 = 64;

/// Steps that remove a session while its owner waits: a short one is gone from the file when the request is answered.
pub(crate) const AWAITED_STEPS: usize = 4;

/// Detaches a session from its contents. Returns the key under which they remain; `None` if there is no such session.
pub(crate) fn detach(sql: &Sql<'_>, id: &str, how: &Clear, now: i64) -> Result<Option<i64>, Error> {
    const DELETE: &str = "DELETE FROM sessions WHERE session_key = ?1";
    const PURGE: &str = "INSERT INTO purges (session_key, cut_at) VALUES (?1, ?2)";
    if let Clear::DeleteIf(_) | Clear::Bin(_) = how {
        let present = listing::summary(sql, id)?;
        how.check(|| present.map(|present| present.version()))?;
    }
    let Some(key) = sessions::key(sql, id)? else { return Ok(None) };
    turns::forget(sql, key, Forget::Open, now)?;
    outbox::forget_settled(sql, id)?;
    match how {
        Clear::Reset => sessions::renumber(sql, key, now)?,
        Clear::Delete | Clear::DeleteIf(_) => {
            sql.execute(DELETE, [key])?;
        }
        Clear::Bin(_) => {
            sessions::move_to_bin(sql, key, now)?;
            return Ok(Some(key));
        }
    }
    sql.execute(PURGE, [key, now])?;
    Ok(Some(key))
}

/// Deletes some detached messages and turns of any session. Returns `true` if there may be more.
pub(crate) fn purge_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const NEXT: &str = "SELECT session_key FROM purges LIMIT 1";
    match sql.first(NEXT, [], |row| row.get(0))? {
        Some(session) => purge_some_of(sql, session).map(|_| true),
        None => Ok(false),
    }
}

/// Deletes some rows that were detached under this key. Returns `true` if there may be more.
pub(crate) fn purge_some_of(sql: &Sql<'_>, session: i64) -> Result<bool, Error> {
    const CUT: &str = "SELECT cut_at FROM purges WHERE session_key = ?1";
    const MESSAGES: &str = "SELECT id, role, content FROM messages WHERE session_key = ?1 LIMIT ?2";
    const DELETE: &str = "DELETE FROM messages WHERE id = ?1";
    const DONE: &str = "DELETE FROM purges WHERE session_key = ?1";
    let Some(now) = sql.first(CUT, [session], |row| row.get(0))? else { return Ok(false) };
    let messages = sql.all(MESSAGES, [session, STEP], |row| {
        Ok((row.get::<_, i64>(0)?, lenient::text(row, 1)?.into_owned(), lenient::text(row, 2)?.into_owned()))
    })?;
    for (id, role, content) in &messages {
        search::forget(sql, *id, role, content)?;
        sql.execute(DELETE, [id])?;
    }
    // Turns go last: their keys are reused, and messages refer to them.
    if messages.is_empty() && !turns::forget(sql, session, Forget::Some(STEP), now)? {
        sql.execute(DONE, [session])?;
        return Ok(false);
    }
    Ok(true)
}
