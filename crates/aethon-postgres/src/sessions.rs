//! Sessions as rows: find, create, count, name, set up.
//!
//! The message count and the time of last use are columns, updated with every write, so that nothing has to be counted
//! however long a conversation is.

use std::sync::Arc;

use aethon_core::ids::SessionId;
use aethon_core::model::Effort;
use aethon_core::session::{SessionPatch, SessionSettings, TurnDefaults};

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::messages;

/// A session that is open for writing.
pub(crate) struct OpenSession {
    /// Its key.
    pub(crate) key: i64,
    /// Whether it still needs a title.
    pub(crate) is_untitled: bool,
    /// Its settings for turns.
    pub(crate) defaults: Option<Arc<TurnDefaults>>,
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

const FIND: &str = "SELECT session_key, title_source, is_oneshot, sender = '', model, effort, instructions
    FROM sessions WHERE id = $1";

/// Finds a session or creates it.
pub(crate) fn open(sql: &Sql<'_>, opening: &SessionOpening) -> Result<OpenSession, Error> {
    const CREATE: &str =
        "INSERT INTO sessions (id, channel, sender, title, title_source, agent_name, is_oneshot,
        created_at, updated_at, message_count) VALUES ($1, $2, $3, '', 0, $4, $5, $6, $6, 0)
        RETURNING session_key";
    const JOIN: &str = "UPDATE sessions SET is_oneshot = is_oneshot AND $2,
        sender = CASE sender WHEN '' THEN $3 ELSE sender END WHERE session_key = $1";
    let id = opening.id.as_str();
    let sender = opening.sender.as_deref().unwrap_or("");
    let found = sql.first(FIND, [id], |row| {
        let session = OpenSession {
            key: row.get(0)?,
            is_untitled: row.get::<i64>(1)? == 0,
            defaults: turn_defaults(row, 4)?.if_any(),
        };
        Ok((session, row.get::<bool>(2)?, row.get::<bool>(3)?))
    })?;
    let Some((session, was_oneshot, is_unsent)) = found else {
        let values =
            params![id, opening.id.channel(), sender, opening.agent_name, opening.is_oneshot, opening.now];
        return Ok(OpenSession { key: sql.insert(CREATE, values)?, is_untitled: true, defaults: None });
    };
    if (was_oneshot && !opening.is_oneshot) || (is_unsent && !sender.is_empty()) {
        sql.execute(JOIN, params![session.key, opening.is_oneshot, sender])?;
    }
    Ok(session)
}

/// Returns the settings of a session for its turns.
pub(crate) fn defaults(sql: &Sql<'_>, key: i64) -> Result<Option<Arc<TurnDefaults>>, Error> {
    const DEFAULTS: &str = "SELECT model, effort, instructions FROM sessions WHERE session_key = $1";
    Ok(sql.first(DEFAULTS, [key], |row| turn_defaults(row, 0))?.and_then(TurnDefaults::if_any))
}

/// Reads the columns `model`, `effort` and `instructions`, which begin at `first`. An effort that this version does not
/// know is none.
pub(crate) fn turn_defaults(row: &Row<'_>, first: usize) -> Result<TurnDefaults, Error> {
    let text = |column| row.text_or_null(column);
    Ok(TurnDefaults {
        model: text(first)?.map(Into::into),
        effort: text(first + 1)?.and_then(Effort::parse),
        instructions: text(first + 2)?.map(Arc::from),
    })
}

/// Returns the key of a session.
pub(crate) fn key(sql: &Sql<'_>, id: &str) -> Result<Option<i64>, Error> {
    sql.first(FIND, [id], |row| row.get(0))
}

/// Adds to the message count (or subtracts, if negative) and updates the time of use. Returns `false` if the session is
/// gone.
pub(crate) fn touch(sql: &Sql<'_>, key: i64, added: i64, now: i64) -> Result<bool, Error> {
    const TOUCH: &str =
        "UPDATE sessions SET message_count = message_count + $2, updated_at = $3 WHERE session_key = $1";
    Ok(sql.execute(TOUCH, params![key, added, now])? == 1)
}

/// Sets the title suggested by the first message, also after an edit of it. A title given by a person stays.
pub(crate) fn suggest_title(sql: &Sql<'_>, key: i64, title: &str) -> Result<(), Error> {
    const SUGGEST: &str = "UPDATE sessions SET title = $2, title_source = 1 WHERE session_key = $1
        AND (title_source = 0 OR title_source = 1 AND message_count = 1)";
    if !title.is_empty() {
        sql.execute(SUGGEST, params![key, title])?;
    }
    Ok(())
}

/// Sets a title made from the first exchange, which later messages do not change. Returns whether it took the place of the one
/// that the first message suggested.
pub(crate) fn name(sql: &Sql<'_>, id: &str, title: &str) -> Result<bool, Error> {
    const NAME: &str = "UPDATE sessions SET title = $2, title_source = 3 WHERE id = $1 AND title_source = 1";
    Ok(sql.execute(NAME, [id, title])? == 1)
}

/// Sets the title for good.
pub(crate) fn rename(sql: &Sql<'_>, id: &str, title: &str) -> Result<(), Error> {
    const RENAME: &str = "UPDATE sessions SET title = $2, title_source = 2 WHERE id = $1";
    sql.execute(RENAME, [id, title])?;
    Ok(())
}

/// Applies a patch to a session with these settings; a title that it sets is final.
pub(crate) fn patch(
    sql: &Sql<'_>,
    id: &str,
    mut settings: SessionSettings,
    patch: &SessionPatch,
) -> Result<(), Error> {
    // An effort that a newer version wrote stays, unless the patch sets one.
    const SET: &str =
        "UPDATE sessions SET model = $2, effort = CASE WHEN $8 THEN $3 ELSE effort END, instructions = $4,
        folder = $5, pinned = $6, archived = $7 WHERE id = $1";
    if let Some(title) = &patch.title {
        rename(sql, id, title)?;
    }
    patch.apply_to(&mut settings);
    let SessionSettings { turns: TurnDefaults { model, effort, instructions }, pinned, archived, folder } =
        settings;
    let effort = effort.map(Effort::as_str);
    sql.execute(
        SET,
        params![id, model, effort, instructions.as_deref(), folder, pinned, archived, patch.effort.is_some()],
    )?;
    Ok(())
}

/// Notes that a person has seen the messages so far. Returns whether any were new.
pub(crate) fn mark_read(sql: &Sql<'_>, key: i64) -> Result<bool, Error> {
    const READ: &str = "UPDATE sessions SET read_through = $2 WHERE session_key = $1 AND read_through < $2";
    let newest = messages::newest(sql, key)?.unwrap_or(0);
    Ok(sql.execute(READ, [key, newest])? == 1)
}

/// Moves the row of a session into the bin.
pub(crate) fn move_to_bin(sql: &Sql<'_>, key: i64, now: i64) -> Result<(), Error> {
    const COPY: &str = "INSERT INTO binned_sessions (session_key, id, channel, sender, title, title_source, agent_name,
        is_oneshot, created_at, updated_at, message_count, model, effort, instructions, folder, pinned, archived,
        read_through, deleted_at)
        SELECT session_key, id, channel, sender, title, title_source, agent_name, is_oneshot, created_at, updated_at,
        message_count, model, effort, instructions, folder, pinned, archived, read_through, $2::bigint
        FROM sessions WHERE session_key = $1";
    const DELETE: &str = "DELETE FROM sessions WHERE session_key = $1";
    sql.execute(COPY, [key, now])?;
    sql.execute(DELETE, [key])?;
    Ok(())
}

/// Gives the session's row a new key and empties it, so that the old contents no longer belong to it.
pub(crate) fn renumber(sql: &Sql<'_>, key: i64, now: i64) -> Result<(), Error> {
    // The title is final from now on: the message that it was taken from is gone.
    const RENUMBER: &str =
        "UPDATE sessions SET session_key = nextval(pg_get_serial_sequence('sessions', 'session_key')),
        title_source = CASE title_source WHEN 0 THEN 0 ELSE 2 END, updated_at = $2, message_count = 0, read_through = 0
        WHERE session_key = $1";
    sql.execute(RENUMBER, [key, now])?;
    Ok(())
}
