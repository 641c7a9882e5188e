//! Versions of a turn: what retries and edits have put aside, and how it comes back.
//!
//! Messages of the live branch have no `superseded_by`. A branch that is put aside has the id of its first message there,
//! so it comes back unchanged, without messages that were put aside within it earlier. Turns that take each other's place
//! share `version_of`.

use aethon_core::error::Error as CoreError;
use aethon_core::history::TurnVersions;
use aethon_core::ids::TurnId;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::messages;
use crate::sessions;
use crate::turns;

/// The most turns that a session's versions are read from, newest first.
const MAX_TURNS: i64 = 10_000;

/// Records that a turn is a version of the one that it replaces. Both have begun.
pub(crate) fn join(sql: &Sql<'_>, replaced: &TurnId, turn: &TurnId) -> Result<(), Error> {
    const FOUND: &str = "UPDATE turns SET version_of = first_message WHERE id = $1 AND version_of IS NULL";
    const JOIN: &str =
        "UPDATE turns SET version_of = (SELECT version_of FROM turns WHERE id = $1) WHERE id = $2";
    sql.execute(FOUND, [replaced.as_str()])?;
    sql.execute(JOIN, [replaced.as_str(), turn.as_str()])?;
    Ok(())
}

/// Returns the turns of the live branch that have several versions, oldest first.
pub(crate) fn all(sql: &Sql<'_>, session: i64) -> Result<Vec<TurnVersions>, Error> {
    const ALL: &str = "SELECT turns.version_of, turns.id, messages.superseded_by IS NULL
        FROM turns JOIN messages ON messages.id = turns.first_message
        WHERE turns.session_key = $1 AND turns.version_of IS NOT NULL
        ORDER BY turns.version_of DESC, turns.first_message DESC LIMIT $2";
    let rows = sql.all(ALL, params![session, MAX_TURNS], |row| {
        let id = TurnId::existing(row.text(1)?);
        Ok((row.get::<i64>(0)?, id, row.get::<bool>(2)?))
    })?;
    let mut all = Vec::new();
    for family in rows.chunk_by(|one, other| one.0 == other.0) {
        // A question within a branch that is put aside is not in the conversation.
        let Some((_, turn, _)) = family.iter().find(|(.., is_live)| *is_live) else { continue };
        let turns: Vec<TurnId> = family.iter().rev().map(|(_, turn, _)| turn.clone()).collect();
        if turns.len() > 1 {
            all.push(TurnVersions { turn: turn.clone(), turns });
        }
    }
    all.reverse();
    Ok(all)
}

/// Makes the branch of a version the live one.
pub(crate) fn switch(sql: &Sql<'_>, session: i64, turn: &TurnId, now: i64) -> Result<(), Error> {
    const PRESENT: &str =
        "SELECT turns.first_message FROM turns JOIN messages ON messages.id = turns.first_message
        WHERE turns.session_key = $1 AND messages.superseded_by IS NULL
            AND turns.version_of = (SELECT version_of FROM turns WHERE id = $2)";
    const BRING_BACK: &str =
        "UPDATE messages SET superseded_by = NULL WHERE session_key = $1 AND superseded_by = $2";
    let state = turns::state(sql, turn)?;
    let Some(first) = state.first_message.filter(|_| state.session == session) else {
        return Err(turns::no_turn(turn));
    };
    if messages::is_live(sql, session, first)? {
        return Ok(());
    }
    let present: Option<i64> = sql.first(PRESENT, params![session, turn.as_str()], |row| row.get(0))?;
    let present = present.ok_or_else(|| turns::no_turn(turn))?;
    if !turns::open(sql, Some(session))?.is_empty() {
        return Err(CoreError::full(
            "an answer is being written in this conversation: stop it or wait for it, then choose another version",
        )
        .into());
    }
    let gone = messages::put_aside(sql, session, present, i64::MAX)?;
    let back = sql.execute(BRING_BACK, params![session, first])?;
    let added = i64::try_from(back).unwrap_or(0) - i64::try_from(gone).unwrap_or(0);
    sessions::touch(sql, session, added, now)?;
    Ok(())
}
