//! Removes conversations in small steps.
//!
//! The first step detaches the session's row, which is quick however long the conversation is: from then on nobody sees
//! its messages. They are deleted later, a few at a time, between other people's turns. After a crash, the next idle
//! moment continues.

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::turns::Forget;
use crate::{outbox, search, sessions, turns};
use aethon_core::session::Clear;

/// Messages (and then turns) deleted per step.
const STEP: i64 = 64;

/// Detaches a session from its contents. Returns `false` if there is no such session.
pub(crate) fn detach(sql: &Sql<'_>, id: &str, how: Clear, now: i64) -> Result<bool, Error> {
    const DELETE: &str = "DELETE FROM sessions WHERE session_key = ?1";
    const PURGE: &str = "INSERT INTO purges (session_key, cut_at) VALUES (?1, ?2)";
    let Some(key) = sessions::key(sql, id)? else { return Ok(false) };
    turns::forget(sql, key, Forget::Open, now)?;
    outbox::forget_settled(sql, id)?;
    match how {
        Clear::Reset => sessions::renumber(sql, key, now)?,
        Clear::Delete => {
            sql.execute(DELETE, [key])?;
        }
    }
    sql.execute(PURGE, [key, now])?;
    Ok(true)
}

/// Deletes some detached messages and turns. Returns `true` if there may be more.
pub(crate) fn purge_some(sql: &Sql<'_>) -> Result<bool, Error> {
    const NEXT: &str = "SELECT session_key, cut_at FROM purges LIMIT 1";
    const MESSAGES: &str = "SELECT id, role, content FROM messages WHERE session_key = ?1 LIMIT ?2";
    const DELETE: &str = "DELETE FROM messages WHERE id = ?1";
    const DONE: &str = "DELETE FROM purges WHERE session_key = ?1";
    let next = sql.first(NEXT, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    let Some((session, now)) = next else { return Ok(false) };
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
    }
    Ok(true)
}
