//! Whose turns are whose, of the programs that use the database.
//!
//! A program's row says until when it counts as alive. It is written with the turns that it accepts, so that a program
//! that only reads leaves no trace and a turn is never without a living owner.

use std::time::Duration;

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::owner::{EndedElsewhere, MAX_ENDED, Owners};
use aethon_core::session::TurnRecord;
use async_trait::async_trait;

use crate::db::{Sql, params};
use crate::error::Error;
use crate::ledger;
use crate::owner::Owner;
use crate::sessions;
use crate::store::{Opener, Store};
use crate::turns;

/// How long the rows of programs that are gone are kept, in leases.
const KEPT_LEASES: i64 = 1000;

#[async_trait]
impl Owners for Store {
    fn lease(&self) -> Duration {
        Duration::from_millis(self.owner().lease.unsigned_abs())
    }

    async fn renew(&self) -> CoreResult<()> {
        let (owner, about, now) = (self.owner(), self.opener().about.clone(), self.now());
        let sign = move |sql: &Sql<'_>| owner.sign(sql, &about, about.lease_now(sql, now)?, owner.lease);
        Ok(self.write(sign).await?)
    }

    async fn orphaned(&self) -> CoreResult<Vec<SessionId>> {
        self.end_leases_of_wrong_clocks().await?;
        const ORPHANED: &str = "SELECT session_key, turn_key, sessions.id FROM turns
            JOIN sessions USING (session_key) LEFT JOIN owners ON owners.owner = turns.owner
            WHERE phase < 2 AND phase >= 0 AND turns.owner IS DISTINCT FROM $1 AND coalesce(lease_until <= $2, TRUE)";
        let (owner, about, now) = (self.owner().id, self.opener().about.clone(), self.now());
        let read = move |sql: &Sql<'_>| {
            let now = about.lease_now(sql, now)?;
            let mut rows = sql.all(ORPHANED, [owner, now], |row| {
                Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<String>(2)?))
            })?;
            rows.sort_unstable();
            rows.dedup_by_key(|(session, ..)| *session);
            rows.sort_unstable_by_key(|(_, first, _)| *first);
            Ok(rows.iter().filter_map(|(.., id)| SessionId::parse(id).ok()).collect())
        };
        Ok(self.read(read).await?)
    }

    async fn take_over(&self, session: &SessionId) -> CoreResult<Vec<TurnRecord>> {
        let (opener, session, now) = (self.opener().clone(), session.clone(), self.now());
        Ok(self.write(move |sql| take_over(sql, &opener, &session, now)).await?)
    }

    async fn ended_elsewhere(&self, after: Option<MessageId>) -> CoreResult<EndedElsewhere> {
        let owner = self.owner();
        Ok(self.read(move |sql| ended_elsewhere(sql, owner, after)).await?)
    }

    async fn release(&self) -> CoreResult<()> {
        const RELEASE: &str = "DELETE FROM owners WHERE owner = $1";
        const TIDY: &str = "DELETE FROM owners WHERE lease_until < $1";
        let (owner, about, now) = (self.owner(), self.opener().about.clone(), self.now());
        let release = move |sql: &Sql<'_>| {
            let kept = owner.lease.saturating_mul(KEPT_LEASES);
            let long_gone = about.lease_now(sql, now)?.saturating_sub(kept);
            sql.execute(RELEASE, [owner.id])?;
            sql.execute(TIDY, [long_gone]).map(drop)
        };
        Ok(self.write(release).await?)
    }
}

impl Store {
    /// Ends leases that reach further ahead than any lease does: they were signed while the clock was ahead. Their owner may be
    /// alive, because the clock has just been set back; then it renews its lease. So a lease is over when it has not changed
    /// for its whole length, by a clock that cannot be set.
    async fn end_leases_of_wrong_clocks(&self) -> CoreResult<()> {
        const AHEAD: &str =
            "SELECT owner, lease_until FROM owners WHERE lease_until > $1 AND owner IS DISTINCT FROM $2";
        const END: &str = "DELETE FROM owners WHERE owner = $1 AND lease_until = $2";
        let (owner, about, now) = (self.owner(), self.opener().about.clone(), self.now());
        let read = move |sql: &Sql<'_>| {
            // Another program's clock reading may be a moment newer.
            let bound = about.lease_now(sql, now)?.saturating_add(owner.lease.saturating_mul(2));
            sql.all(AHEAD, [bound, owner.id], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        let ahead = self.read(read).await?;
        let over =
            self.suspicious_leases().unchanged_for(ahead, Duration::from_millis(owner.lease.unsigned_abs()));
        if over.is_empty() {
            return Ok(());
        }
        tracing::info!(programs = over.len(), "leases from a clock that was ahead are over");
        let end = move |sql: &Sql<'_>| {
            over.iter().try_for_each(|(owner, until)| sql.execute(END, [*owner, *until]).map(drop))
        };
        Ok(self.write(end).await?)
    }
}

fn ended_elsewhere(sql: &Sql<'_>, owner: Owner, after: Option<MessageId>) -> Result<EndedElsewhere, Error> {
    const NEWEST: &str = "SELECT max(id) FROM messages";
    // By the number of the message, whatever the planner thinks of it: behind the last look there are few.
    const ENDED: &str = "SELECT messages.id, sessions.id, messages.turn FROM messages
        JOIN turns ON turns.id = messages.turn
        JOIN sessions ON sessions.session_key = messages.session_key
        WHERE messages.id > $1 AND messages.stop_reason IS NOT NULL AND messages.superseded_by IS NULL
        AND turns.owner IS DISTINCT FROM $2 ORDER BY messages.id LIMIT $3";
    let newest: Option<i64> = sql.one(NEWEST, [], |row| row.get(0))?;
    let newest = newest.map(MessageId).max(after);
    let Some(after) = after.filter(|after| Some(*after) < newest) else {
        return Ok(EndedElsewhere { turns: Vec::new(), through: newest });
    };
    let most = i64::try_from(MAX_ENDED).unwrap_or(i64::MAX);
    let ended = sql.all(ENDED, params![after.0, owner.id, most], |row| {
        let turn = TurnId::existing(row.text(2)?);
        Ok((row.get::<i64>(0)?, row.text(1)?.to_owned(), turn))
    })?;
    let is_cut = ended.len() >= MAX_ENDED;
    let through = if is_cut { ended.last().map(|(id, ..)| MessageId(*id)) } else { newest };
    let turns =
        ended.into_iter().filter_map(|(_, session, turn)| Some((SessionId::parse(&session).ok()?, turn)));
    Ok(EndedElsewhere { turns: turns.collect(), through })
}

fn take_over(
    sql: &Sql<'_>,
    opener: &Opener,
    session: &SessionId,
    now: i64,
) -> Result<Vec<TurnRecord>, Error> {
    const ORPHANS: &str = "SELECT turn_key, id FROM turns
        LEFT JOIN owners ON owners.owner = turns.owner
        WHERE session_key = $1 AND phase < 2 AND phase >= 0 AND turns.owner IS DISTINCT FROM $2 AND coalesce(lease_until <= $3, TRUE)
        ORDER BY turn_key";
    const TAKE: &str = "UPDATE turns SET owner = $2 WHERE turn_key = $1";
    let (owner, now_here) = (opener.owner, now);
    let now = opener.about.lease_now(sql, now)?;
    let Some(session) = sessions::key(sql, session.as_str())? else { return Ok(Vec::new()) };
    let orphans = sql.all(ORPHANS, [session, owner.id, now], |row| {
        Ok((row.get::<i64>(0)?, TurnId::existing(row.text(1)?)))
    })?;
    if orphans.is_empty() {
        return Ok(Vec::new());
    }
    owner.sign_if_due(sql, &opener.about, now)?;
    // What their calls had set aside is free for the turns that go on.
    ledger::write_off_gone(sql, opener, now_here)?;
    let mut records = Vec::with_capacity(orphans.len());
    for (key, turn) in orphans {
        match turns::record(sql, &turn) {
            Ok(record) => records.extend(record),
            Err(error) if error.is_unavailable() => return Err(error),
            // It can never be resumed, and would hold up its session for as long as it is open.
            Err(error) => {
                tracing::error!(%error, "a stored turn is damaged and is closed");
                turns::end(sql, key, turns::NO_OUTCOME, None, now_here)?;
                continue;
            }
        }
        sql.execute(TAKE, [key, owner.id])?;
    }
    Ok(records)
}

/// Whether another owner has a turn in a session that comes before this one: because it has begun, or was accepted before all
/// that this owner has there. Which of its own turns an owner begins with is up to its queue, and that may differ from the order
/// in which they were stored; were only this one compared, two owners could wait for each other forever.
pub(crate) fn is_held(sql: &Sql<'_>, session: i64, turn: i64, owner: Owner) -> Result<bool, Error> {
    const HELD: &str = "SELECT 1 FROM turns WHERE session_key = $1 AND phase < 2 AND phase >= 0
        AND owner IS DISTINCT FROM $3 AND (phase = 1 OR turn_key < coalesce((SELECT min(turn_key)
            FROM turns AS own WHERE own.session_key = $1 AND own.phase < 2 AND own.phase >= 0
            AND own.owner IS NOT DISTINCT FROM $3), $2)) LIMIT 1";
    Ok(sql.first(HELD, params![session, turn, owner.id], |_| Ok(()))?.is_some())
}

/// Takes the place of the daemon that this home had before, which is gone, because each home has one: its turns are orphans at
/// once, and its roles are free.
pub(crate) fn take_the_place(sql: &Sql<'_>, opener: &Opener, now: i64) -> Result<(), Error> {
    const FREE: &str = "DELETE FROM roles WHERE owner IN
        (SELECT owner FROM owners WHERE is_daemon AND instance = $1 AND owner <> $2)";
    const FORGET: &str = "DELETE FROM owners WHERE is_daemon AND instance = $1 AND owner <> $2";
    sql.execute(FREE, params![opener.about.instance, opener.owner.id])?;
    sql.execute(FORGET, params![opener.about.instance, opener.owner.id])?;
    stay(sql, opener, now)
}

/// A sign of life of a daemon.
pub(crate) fn stay(sql: &Sql<'_>, opener: &Opener, now: i64) -> Result<(), Error> {
    let now = opener.about.lease_now(sql, now)?;
    opener.owner.sign(sql, &opener.about, now, opener.owner.lease)
}

/// The error for a session in which another program writes.
pub(crate) fn elsewhere() -> Error {
    CoreError::elsewhere("another program writes in this conversation; it is free again soon").into()
}

/// The error for a turn that another program took over.
pub(crate) fn taken_over(turn: &TurnId) -> Error {
    CoreError::invalid(format!("another program has taken the turn {turn} over")).into()
}
