//! Sessions as rows: find, create, count, name.
//!
//! The message count and the time of last use are columns, updated with every write, so that nothing has to be counted
//! however long a conversation is.

use aethon_core::ids::SessionId;
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};

use crate::db::Sql;
use crate::error::Error;

/// A session that is open for writing.
pub(crate) struct OpenSession {
    /// Its key.
    pub(crate) key: i64,
    /// Whether it still needs a title.
    pub(crate) is_untitled: bool,
}

/// How to create a session that does not exist yet.
pub(crate) struct SessionOpening {
    /// Its id.
    pub(crate) id: SessionId,
    /// Who sends the first message; `None` if the program itself does.
    pub(crate) sender: Option<String>,
    /// The agent that answers.
    pub(crate) agent_name: String,
    /// Whether it may be removed after a while.
    pub(crate) is_oneshot: bool,
    /// The current time.
    pub(crate) now: i64,
}

const FIND: &str = "SELECT session_key, title_source, is_oneshot, sender = '' FROM sessions WHERE id = ?1";

/// Finds a session or creates it.
pub(crate) fn open(sql: &Sql<'_>, opening: &SessionOpening) -> Result<OpenSession, Error> {
    const CREATE: &str =
        "INSERT INTO sessions (id, channel, sender, title, title_source, agent_name, is_oneshot,
        created_at, updated_at, message_count) VALUES (?1, ?2, ?3, '', 0, ?4, ?5, ?6, ?6, 0)";
    const JOIN: &str = "UPDATE sessions SET is_oneshot = is_oneshot AND ?2,
        sender = CASE sender WHEN '' THEN ?3 ELSE sender END WHERE session_key = ?1";
    let id = opening.id.as_str();
    let sender = opening.sender.as_deref().unwrap_or("");
    let found = sql.first(FIND, [id], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?, row.get::<_, bool>(3)?))
    })?;
    let Some((key, title_source, was_oneshot, is_unsent)) = found else {
        let values =
            params![id, opening.id.channel(), sender, opening.agent_name, opening.is_oneshot, opening.now];
        return Ok(OpenSession { key: sql.insert(CREATE, values)?, is_untitled: true });
    };
    if (was_oneshot && !opening.is_oneshot) || (is_unsent && !sender.is_empty()) {
        sql.execute(JOIN, params![key, opening.is_oneshot, sender])?;
    }
    Ok(OpenSession { key, is_untitled: title_source == 0 })
}

/// Returns the key of a session.
pub(crate) fn key(sql: &Sql<'_>, id: &str) -> Result<Option<i64>, Error> {
    Ok(sql.first(FIND, [id], |row| row.get(0))?)
}

/// Adds to the message count (or subtracts, if negative) and updates the time of use. Returns `false` if the session is
/// gone.
pub(crate) fn touch(sql: &Sql<'_>, key: i64, added: i64, now: i64) -> Result<bool, Error> {
    const TOUCH: &str =
        "UPDATE sessions SET message_count = message_count + ?2, updated_at = ?3 WHERE session_key = ?1";
    Ok(sql.execute(TOUCH, params![key, added, now])? == 1)
}

/// Sets the title suggested by the first message, also after an edit of it. A title given by a person stays.
pub(crate) fn suggest_title(sql: &Sql<'_>, key: i64, title: &str) -> Result<(), Error> {
    const SUGGEST: &str = "UPDATE sessions SET title = ?2, title_source = 1 WHERE session_key = ?1
        AND (title_source = 0 OR title_source = 1 AND message_count = 1)";
    if !title.is_empty() {
        sql.execute(SUGGEST, params![key, title])?;
    }
    Ok(())
}

/// Sets the title for good. Returns `false` if there is no such session.
pub(crate) fn rename(sql: &Sql<'_>, id: &str, title: &str) -> Result<bool, Error> {
    const RENAME: &str = "UPDATE sessions SET title = ?2, title_source = 2 WHERE id = ?1";
    Ok(sql.execute(RENAME, [id, title])? == 1)
}

/// Gives the session's row a new key and empties it, so that the old contents no longer belong to it.
pub(crate) fn renumber(sql: &Sql<'_>, key: i64, now: i64) -> Result<(), Error> {
    // The title is final from now on: the message that it was taken from is gone.
    const KEEP: &str =
        "SELECT id, channel, sender, title, CASE title_source WHEN 0 THEN 0 ELSE 2 END, agent_name,
        is_oneshot, created_at FROM sessions WHERE session_key = ?1";
    const DELETE: &str = "DELETE FROM sessions WHERE session_key = ?1";
    const INSERT: &str =
        "INSERT INTO sessions (id, channel, sender, title, title_source, agent_name, is_oneshot,
        created_at, updated_at, message_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)";
    let mut kept: Vec<Value> = sql.one(KEEP, [key], |row| (0..8).map(|column| row.get(column)).collect())?;
    kept.push(Value::Integer(now));
    sql.execute(DELETE, [key])?;
    sql.execute(INSERT, params_from_iter(kept))?;
    Ok(())
}
