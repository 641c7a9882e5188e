//! Turns as rows. The table is also the inbox: a turn remembers the id by which its sender knows it.
//!
//! If a session is removed while a turn's dedupe id is still valid, the turn stays as an empty shell (session 0): a
//! redelivered message must not run again just because its session was deleted, but its words must be gone.

use std::borrow::Cow;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Failure, Inbound, Reply, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::{TurnPhase, TurnRecord};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use crate::db::Sql;
use crate::error::Error;
use crate::lenient;
use crate::messages::{self, NewMessage};
use crate::owner::Owner;
use crate::time::{days, from_millis};

const QUEUED: i64 = 0;
const RUNNING: i64 = 1;
// Phase 2 is done. Phase -1 is done, too, but its messages still wait for their place in the transcript; it is below 2
// so that the index of open turns includes it.

/// A turn ready to be stored.
pub(crate) struct NewTurn {
    pub(crate) id: TurnId,
    pub(crate) channel: String,
    pub(crate) dedupe: Option<(String, Option<i64>)>,
    pub(crate) inbound: String,
    pub(crate) owner: Owner,
    pub(crate) now: i64,
}

/// The state needed to continue a turn.
pub(crate) struct TurnState {
    pub(crate) key: i64,
    pub(crate) session: i64,
    pub(crate) phase: TurnPhase,
    pub(crate) first_message: Option<i64>,
    owner: Option<i64>,
}

impl TurnState {
    pub(crate) fn is_of(&self, owner: Owner) -> bool {
        self.owner == Some(owner.id)
    }
}

/// The outcome of a turn, as JSON. The text is omitted if a message of the turn contains it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outcome {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// What follows the text of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    pub(crate) end: TurnEnd,
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Failure>,
    /// The messages of a turn that ended before it began, until they get their place in the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<HeldMessages>,
}

/// Messages that wait for their place in the transcript.
#[derive(Serialize, Deserialize)]
pub(crate) struct HeldMessages {
    /// The user's message and the one that ends the turn.
    pub(crate) messages: Vec<NewMessage>,
    /// The title that the first of them suggests.
    pub(crate) title: String,
}

/// A turn whose messages may go into the transcript now.
pub(crate) struct Due {
    pub(crate) key: i64,
    pub(crate) id: TurnId,
    pub(crate) held: HeldMessages,
}

/// Stores a turn; it has begun if it has a first message.
pub(crate) fn insert(sql: &Sql<'_>, session: i64, turn: &NewTurn, first: Option<i64>) -> Result<(), Error> {
    const INSERT: &str =
        "INSERT INTO turns (id, session_key, channel, dedupe_id, dedupe_until, phase, attempts,
        accepted_at, started_at, first_message, inbound, owner)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let (dedupe_id, dedupe_until) =
        turn.dedupe.as_ref().map_or((None, None), |(id, until)| (Some(id), *until));
    let begun = first.is_some();
    sql.execute(
        INSERT,
        params![
            turn.id.as_str(),
            session,
            turn.channel,
            dedupe_id,
            dedupe_until,
            if begun { RUNNING } else { QUEUED },
            begun,
            turn.now,
            begun.then_some(turn.now),
            first,
            turn.inbound,
            turn.owner.id
        ],
    )?;
    Ok(())
}

/// Returns the turn with this dedupe id on this channel, if the id is still valid; an expired id is released.
pub(crate) fn known(
    sql: &Sql<'_>,
    channel: &str,
    dedupe_id: &str,
    now: i64,
) -> Result<Option<TurnRecord>, Error> {
    let Some((key, counts)) = find_by_dedupe_id(sql, channel, dedupe_id, now)? else { return Ok(None) };
    if !counts {
        release(sql, key)?;
        return Ok(None);
    }
    by_key(sql, key)
}

/// Like [`known`], but read-only.
pub(crate) fn still_known(
    sql: &Sql<'_>,
    channel: &str,
    dedupe_id: &str,
    now: i64,
) -> Result<Option<TurnRecord>, Error> {
    match find_by_dedupe_id(sql, channel, dedupe_id, now)? {
        Some((key, true)) => by_key(sql, key),
        _ => Ok(None),
    }
}

/// Returns the key of the turn with this dedupe id, and whether the id is still valid.
fn find_by_dedupe_id(
    sql: &Sql<'_>,
    channel: &str,
    dedupe_id: &str,
    now: i64,
) -> Result<Option<(i64, bool)>, Error> {
    const BY_DEDUPE: &str = "SELECT turn_key, dedupe_until FROM turns WHERE channel = ?1 AND dedupe_id = ?2";
    Ok(sql.first(BY_DEDUPE, [channel, dedupe_id], |row| {
        let until: Option<i64> = row.get(1)?;
        Ok((row.get(0)?, until.is_none_or(|until| until > now)))
    })?)
}

fn by_key(sql: &Sql<'_>, key: i64) -> Result<Option<TurnRecord>, Error> {
    const IS_BINNED: &str = "SELECT EXISTS (SELECT 1 FROM turns CROSS JOIN binned_sessions
        ON binned_sessions.session_key = turns.session_key WHERE turn_key = ?1)";
    let record = sql.first(BY_KEY, [key], read)?.map(|row| row.into_record(sql)).transpose()?;
    let Some(record) = record else { return Ok(None) };
    // What lies in the bin is gone for everybody; only that it was answered is known.
    Ok(Some(if sql.one(IS_BINNED, [key], |row| row.get(0))? { record.emptied() } else { record }))
}

fn release(sql: &Sql<'_>, key: i64) -> Result<(), Error> {
    const RELEASE: &str = "UPDATE turns SET dedupe_id = NULL, dedupe_until = NULL WHERE turn_key = ?1";
    const DROP_SHELL: &str = "DELETE FROM turns WHERE turn_key = ?1 AND session_key = 0";
    if sql.execute(DROP_SHELL, [key])? == 0 {
        sql.execute(RELEASE, [key])?;
    }
    Ok(())
}

/// Releases up to `limit` expired dedupe ids. Returns how many.
pub(crate) fn release_expired(sql: &Sql<'_>, now: i64, limit: i64) -> Result<usize, Error> {
    const EXPIRED: &str =
        "SELECT turn_key FROM turns WHERE dedupe_until <= ?1 ORDER BY dedupe_until LIMIT ?2";
    let expired: Vec<i64> = sql.all(EXPIRED, [now, limit], |row| row.get(0))?;
    expired.iter().try_for_each(|&key| release(sql, key))?;
    Ok(expired.len())
}

const STATE: &str = "SELECT turn_key, session_key, phase, first_message, owner FROM turns WHERE id = ?1";

/// Returns the state of a turn; an error if it does not exist (any more).
pub(crate) fn state(sql: &Sql<'_>, id: &TurnId) -> Result<TurnState, Error> {
    let state = sql.first(STATE, [id.as_str()], |row| {
        Ok(TurnState {
            key: row.get(0)?,
            session: row.get(1)?,
            phase: phase_of(row.get(2)?),
            first_message: row.get(3)?,
            owner: row.get(4)?,
        })
    })?;
    state.filter(|state| state.session != 0).ok_or_else(|| no_turn(id))
}

/// Returns the error for a turn that does not exist, or not any more.
pub(crate) fn no_turn(id: &TurnId) -> Error {
    let id: String = id.as_str().chars().take(80).collect();
    aethon_core::error::Error::not_found(format!("there is no turn {id:?} in this conversation")).into()
}

/// Marks a turn as running (again), with this first message.
pub(crate) fn start(sql: &Sql<'_>, key: i64, first: i64, now: i64) -> Result<(), Error> {
    const START: &str =
        "UPDATE turns SET phase = 1, attempts = attempts + 1, started_at = ?2, first_message = ?3
        WHERE turn_key = ?1";
    sql.execute(START, [key, now, first])?;
    Ok(())
}

/// The outcome of a turn whose own is lost.
pub(crate) const NO_OUTCOME: &str = r#"{"text":"","end":"stopped","model":""}"#;

/// Stores the outcome of a turn.
pub(crate) fn end(
    sql: &Sql<'_>,
    key: i64,
    outcome: &str,
    reply_message: Option<i64>,
    now: i64,
) -> Result<(), Error> {
    const END: &str = "UPDATE turns SET phase = 2, ended_at = ?2, outcome = ?3, reply_message = ?4
        WHERE turn_key = ?1";
    sql.execute(END, params![key, now, outcome, reply_message])?;
    Ok(())
}

/// Stores the outcome of a turn that never began, while its messages wait for their place.
pub(crate) fn hold(sql: &Sql<'_>, key: i64, outcome: &str, held: &str, now: i64) -> Result<(), Error> {
    const HOLD: &str =
        "UPDATE turns SET phase = -1, ended_at = ?2, outcome = json_set(?3, '$.held', json(?4))
        WHERE turn_key = ?1";
    sql.execute(HOLD, params![key, now, outcome, held])?;
    Ok(())
}

/// Notes that the messages of a turn that never began are in the transcript, starting with `first`.
pub(crate) fn mark_placed(sql: &Sql<'_>, key: i64, first: Option<i64>) -> Result<(), Error> {
    const PLACE: &str =
        "UPDATE turns SET phase = 2, first_message = ?2, outcome = CASE WHEN json_valid(outcome)
            THEN json_remove(outcome, '$.held') ELSE '{\"text\":\"\",\"end\":\"stopped\",\"model\":\"\"}' END
        WHERE turn_key = ?1";
    sql.execute(PLACE, params![key, first])?;
    Ok(())
}

const DUE: &str = "SELECT turn_key, id, outcome FROM turns INDEXED BY turns_open
    WHERE phase < 2 AND phase = -1 AND session_key = ?1
    AND turn_key < coalesce((SELECT min(iif(phase = 1, 0, turn_key)) FROM turns INDEXED BY turns_open
        WHERE phase < 2 AND phase >= 0 AND session_key = ?1), 9223372036854775807)
    ORDER BY turn_key";

/// Returns the turns of a session whose messages need not wait any longer: every older turn is over, and none runs. The
/// running one may be younger, because two turns that arrive at once are not stored in the order of their places.
pub(crate) fn due(sql: &Sql<'_>, session: i64) -> Result<Vec<Due>, Error> {
    let rows = sql.all(DUE, [session], |row| {
        Ok((row.get(0)?, TurnId::existing(&lenient::text(row, 1)?), lenient::text(row, 2)?.into_owned()))
    })?;
    let due = |(key, id, outcome): (i64, TurnId, String)| {
        let outcome: Option<Outcome> = serde_json::from_str(&outcome)
            .inspect_err(|error| tracing::error!(%error, turn = %id, "the messages of a turn are damaged and left out"))
            .ok();
        let held = outcome.and_then(|outcome| outcome.held);
        let held = held.unwrap_or(HeldMessages { messages: Vec::new(), title: String::new() });
        Due { key, id, held }
    };
    Ok(rows.into_iter().map(due).collect())
}

/// Returns a turn by its id.
pub(crate) fn record(sql: &Sql<'_>, id: &TurnId) -> Result<Option<TurnRecord>, Error> {
    sql.first(BY_ID, [id.as_str()], read)?.map(|row| row.into_record(sql)).transpose()
}

/// Returns turns that are not over, or whose messages are not in the transcript yet, oldest first; of all sessions, or
/// of one.
pub(crate) fn open(sql: &Sql<'_>, session: Option<i64>) -> Result<Vec<TurnRecord>, Error> {
    let rows = match session {
        Some(session) => sql.all(OPEN_IN, [session], read)?,
        None => {
            let mut rows = sql.all(OPEN, [], |row| Ok((row.get::<_, i64>(7)?, read(row)?)))?;
            rows.sort_unstable_by_key(|(key, _)| *key);
            rows.into_iter().map(|(_, row)| row).collect()
        }
    };
    let records = rows.into_iter().map(|row| row.into_record(sql));
    // One unreadable turn must not keep the others from being resumed.
    let readable = records.filter_map(|record| {
        record
            .inspect_err(|error| tracing::error!(%error, "a stored turn cannot be read and is left out"))
            .ok()
    });
    Ok(readable.collect())
}

const BY_ID: &str = "SELECT id, inbound, phase, accepted_at, attempts, outcome, reply_message FROM turns
    WHERE id = ?1 AND session_key <> 0 AND NOT EXISTS
        (SELECT 1 FROM binned_sessions WHERE binned_sessions.session_key = turns.session_key)";
const BY_KEY: &str = "SELECT id, inbound, phase, accepted_at, attempts, outcome, reply_message FROM turns
    WHERE turn_key = ?1";
const OPEN: &str =
    "SELECT id, inbound, phase, accepted_at, attempts, outcome, reply_message, turn_key FROM turns
    INDEXED BY turns_open WHERE phase < 2";
const OPEN_IN: &str = "SELECT id, inbound, phase, accepted_at, attempts, outcome, reply_message FROM turns
    INDEXED BY turns_open WHERE session_key = ?1 AND phase < 2 ORDER BY turn_key";

/// Removes turns of a session. Those whose dedupe ids are still valid become shells.
pub(crate) fn forget(sql: &Sql<'_>, session: i64, which: Forget, now: i64) -> Result<bool, Error> {
    const SOME: &str =
        "SELECT turn_key, dedupe_id IS NOT NULL AND (dedupe_until IS NULL OR dedupe_until > ?2)
        FROM turns WHERE session_key = ?1 LIMIT ?3";
    const UNFINISHED: &str =
        "SELECT turn_key, dedupe_id IS NOT NULL AND (dedupe_until IS NULL OR dedupe_until > ?2)
        FROM turns INDEXED BY turns_open WHERE session_key = ?1 AND phase < 2 LIMIT ?3";
    const EMPTY: &str =
        "UPDATE turns SET session_key = 0, phase = 2, first_message = NULL, reply_message = NULL,
        inbound = CASE WHEN json_valid(inbound)
            THEN json_set(inbound, '$.text', '', '$.attachments', json('[]')) ELSE '{}' END,
        outcome = '{\"text\":\"\",\"end\":\"stopped\",\"model\":\"\"}',
        dedupe_until = coalesce(dedupe_until, ?2) WHERE turn_key = ?1";
    const DELETE: &str = "DELETE FROM turns WHERE turn_key = ?1";
    let (query, limit) = match which {
        Forget::Open => (UNFINISHED, i64::MAX),
        Forget::Some(limit) => (SOME, limit),
    };
    let turns =
        sql.all(query, [session, now, limit], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)))?;
    for &(key, is_remembered) in &turns {
        if is_remembered {
            sql.execute(EMPTY, [key, now + days(SHELL_DAYS)])?;
        } else {
            sql.execute(DELETE, [key])?;
        }
    }
    Ok(!turns.is_empty())
}

/// How long a shell is kept if its dedupe id would be valid as long as the turn exists: a client that lost its
/// connection comes back within this time or not at all.
const SHELL_DAYS: u32 = 1;

/// Notes the new id of a session in its turns.
pub(crate) fn rename_session(sql: &Sql<'_>, session: i64, id: &SessionId) -> Result<(), Error> {
    const RENAME: &str = "UPDATE turns SET inbound = json_set(inbound, '$.session', ?2)
        WHERE session_key = ?1 AND json_valid(inbound)";
    sql.execute(RENAME, params![session, id.as_str()])?;
    Ok(())
}

/// Which turns of a session to remove.
#[derive(Clone, Copy)]
pub(crate) enum Forget {
    /// Those that are not over.
    Open,
    /// At most this many, open or not.
    Some(i64),
}

/// A row before its JSON is parsed.
struct StoredTurn {
    id: TurnId,
    inbound: String,
    phase: TurnPhase,
    accepted_at: i64,
    attempts: u32,
    outcome: Option<String>,
    reply_message: Option<i64>,
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredTurn> {
    Ok(StoredTurn {
        id: TurnId::existing(&lenient::text(row, 0)?),
        inbound: lenient::text(row, 1)?.into_owned(),
        phase: phase_of(row.get(2)?),
        accepted_at: row.get(3)?,
        attempts: row.get(4)?,
        outcome: lenient::text_or_null(row, 5)?.map(Cow::into_owned),
        reply_message: row.get(6)?,
    })
}

impl StoredTurn {
    fn into_record(self, sql: &Sql<'_>) -> Result<TurnRecord, Error> {
        let inbound: Inbound = serde_json::from_str(&self.inbound).map_err(|e| unreadable(&self.id, e))?;
        let outcome = self.outcome.as_deref().map(serde_json::from_str::<Outcome>).transpose();
        let outcome = outcome.map_err(|error| unreadable(&self.id, error))?;
        let reply = match outcome {
            None => None,
            Some(outcome) => Some(Reply {
                turn: self.id.clone(),
                session: inbound.session.clone(),
                text: match (outcome.text, self.reply_message) {
                    (Some(text), _) => text,
                    (None, Some(message)) => {
                        messages::text(sql, message)?.unwrap_or_default() + &outcome.after.unwrap_or_default()
                    }
                    (None, None) => String::new(),
                },
                end: outcome.end,
                model: outcome.model,
                usage: outcome.usage,
                failure: outcome.failure,
            }),
        };
        let record = TurnRecord::new(self.id, inbound, self.phase, from_millis(self.accepted_at));
        Ok(record.with_attempts(self.attempts).with_reply(reply))
    }
}

fn unreadable(id: &TurnId, error: serde_json::Error) -> Error {
    let message = format!("the stored turn {id} cannot be read");
    aethon_core::error::Error::internal(message).because(error).into()
}

fn phase_of(phase: i64) -> TurnPhase {
    match phase {
        QUEUED => TurnPhase::Queued,
        RUNNING => TurnPhase::Running,
        _ => TurnPhase::Done,
    }
}

#[cfg(test)]
#[test]
fn phases_are_stored_as_numbers() {
    assert_eq!([QUEUED, RUNNING, 2].map(phase_of), [TurnPhase::Queued, TurnPhase::Running, TurnPhase::Done]);
}
