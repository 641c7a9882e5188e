//! The bin: sessions that a person has deleted and may want back.
//!
//! A session in the bin has no row among the sessions, so no reader finds its messages, which stay under its key; its row waits
//! in a table of its own. To delete it for good, the key is handed to [`purge`].

use aethon_core::error::Result as CoreResult;
use aethon_core::ids::SessionId;
use aethon_core::session::{BinId, BinPage, BinQuery, Binned, BinnedSession, Discard, SessionKeeping};
use async_trait::async_trait;
use rusqlite::{Row, params};

use crate::db::Sql;
use crate::error::Error;
use crate::store::Store;
use crate::time::{from_millis, to_millis};
use crate::{lenient, listing, purge, sessions, turns};

/// The most sessions of a page.
const MAX_PAGE: usize = 500;

/// Sessions deleted for good per transaction.
const STEP: i64 = 128;

#[async_trait]
impl SessionKeeping for Store {
    async fn mark_read(&self, id: &SessionId) -> CoreResult<bool> {
        let id = id.clone();
        let mark = move |sql: &Sql<'_>| match sessions::key(sql, id.as_str())? {
            Some(key) => sessions::mark_read(sql, key),
            None => Ok(false),
        };
        Ok(self.write(mark).await?)
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> CoreResult<bool> {
        let (id, title) = (id.clone(), title.to_owned());
        Ok(self.write(move |sql| sessions::name(sql, id.as_str(), &title)).await?)
    }

    async fn binned(&self, query: BinQuery) -> CoreResult<BinPage> {
        Ok(self.read(move |sql| page(sql, query)).await?)
    }

    async fn restore(&self, which: Binned) -> CoreResult<Option<SessionId>> {
        Ok(self.write(move |sql| take_out(sql, &which)).await?)
    }

    async fn discard(&self, which: Discard) -> CoreResult<u64> {
        let now = self.now();
        let mut all = 0;
        loop {
            let which = which.clone();
            let gone = self.write(move |sql| discard(sql, &which, now)).await?;
            all += gone as u64;
            if gone == 0 {
                break;
            }
        }
        for _ in 0..purge::AWAITED_STEPS {
            match self.write(purge::purge_some).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "messages of the emptied bin are still stored; idle moments will remove them");
                    break;
                }
            }
        }
        Ok(all)
    }
}

fn page(sql: &Sql<'_>, query: BinQuery) -> Result<BinPage, Error> {
    // In the order of `listing::read`.
    const PAGE: &str = "SELECT session_key, updated_at, id, channel, sender, title, agent_name, created_at,
        message_count, model, effort, instructions, folder, pinned, archived, 0, deleted_at FROM binned_sessions
        WHERE (deleted_at, session_key) < (?1, ?2) ORDER BY deleted_at DESC, session_key DESC LIMIT ?3";
    const COUNT: &str = "SELECT count(*) FROM binned_sessions";
    let limit = query.limit.clamp(1, MAX_PAGE);
    let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let (before, place) =
        query.before.map_or((i64::MAX, i64::MAX), |(at, BinId(place))| (to_millis(at), place));
    let mut rows = sql.all(PAGE, [before, place, wanted], |row| {
        let bin_id = BinId(row.get(0)?);
        let deleted_at = from_millis(row.get(16)?);
        let (_, summary) = listing::read(row)?;
        Ok(summary.map(|summary| BinnedSession { bin_id, deleted_at, summary }))
    })?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let count: i64 = sql.one(COUNT, [], |row| row.get(0))?;
    Ok(BinPage { sessions: rows.into_iter().flatten().collect(), count: count.unsigned_abs(), has_more })
}

/// Moves a row back among the sessions.
fn take_out(sql: &Sql<'_>, which: &Binned) -> Result<Option<SessionId>, Error> {
    const BY_PLACE: &str = "SELECT session_key, id FROM binned_sessions WHERE session_key = ?1";
    const LAST: &str = "SELECT session_key, id FROM binned_sessions WHERE id = ?1
        ORDER BY deleted_at DESC, session_key DESC LIMIT 1";
    const COPY: &str = "INSERT INTO sessions (session_key, id, channel, sender, title, title_source, agent_name,
        is_oneshot, created_at, updated_at, message_count, model, effort, instructions, folder, pinned, archived,
        read_through)
        SELECT session_key, ?2, channel, sender, title, title_source, agent_name, is_oneshot, created_at, updated_at,
        message_count, model, effort, instructions, folder, pinned, archived, read_through
        FROM binned_sessions WHERE session_key = ?1";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, lenient::text(row, 1)?.into_owned()));
    let found = match which {
        Binned::Place(BinId(place)) => sql.first(BY_PLACE, [*place], read)?,
        Binned::Last(id) => sql.first(LAST, [id.as_str()], read)?,
    };
    let Some((key, id)) = found else { return Ok(None) };
    // An id that was damaged by hand still has a place to come back to.
    let id = SessionId::parse(&id).or_else(|_| SessionId::of("webchat", &format!("restored-{key}")));
    let id =
        id.map_err(|error| aethon_core::error::Error::internal("the session has no id").because(error))?;
    let free = free_id(sql, &id)?;
    sql.execute(COPY, params![key, free.as_str()])?;
    sql.execute(FORGET, [key])?;
    if free != id {
        turns::rename_session(sql, key, &free)?;
    }
    Ok(Some(free))
}

/// Returns the id, or the next one that no session has.
fn free_id(sql: &Sql<'_>, id: &SessionId) -> Result<SessionId, Error> {
    let mut free = id.clone();
    let mut number = 2;
    while sessions::key(sql, free.as_str())?.is_some() {
        free = id.numbered(number);
        number += 1;
    }
    Ok(free)
}

const FORGET: &str = "DELETE FROM binned_sessions WHERE session_key = ?1";

/// Hands some sessions over to be deleted. Returns how many.
fn discard(sql: &Sql<'_>, which: &Discard, now: i64) -> Result<usize, Error> {
    const ONE: &str = "SELECT session_key FROM binned_sessions WHERE session_key = ?1";
    const NAMED: &str = "SELECT session_key FROM binned_sessions WHERE id = ?1 LIMIT ?2";
    let keys = match which {
        Discard::One(BinId(place)) => sql.all(ONE, [*place], |row| row.get(0))?,
        Discard::Named(id) => sql.all(NAMED, params![id.as_str(), STEP], |row| row.get(0))?,
        Discard::All => oldest(sql, i64::MAX, STEP)?,
    };
    hand_over(sql, &keys, now)
}

/// Hands sessions that were deleted before a time over to be deleted for good. Returns how many.
pub(crate) fn discard_before(sql: &Sql<'_>, before: i64, now: i64) -> Result<usize, Error> {
    let keys = oldest(sql, before, STEP)?;
    hand_over(sql, &keys, now)
}

/// Hands the session that was deleted first over to be deleted for good. Returns `false` if the bin is empty.
pub(crate) fn discard_oldest(sql: &Sql<'_>, now: i64) -> Result<bool, Error> {
    let keys = oldest(sql, i64::MAX, 1)?;
    Ok(hand_over(sql, &keys, now)? > 0)
}

fn oldest(sql: &Sql<'_>, before: i64, limit: i64) -> Result<Vec<i64>, Error> {
    const OLDEST: &str =
        "SELECT session_key FROM binned_sessions WHERE deleted_at < ?1 ORDER BY deleted_at LIMIT ?2";
    Ok(sql.all(OLDEST, [before, limit], |row| row.get(0))?)
}

fn hand_over(sql: &Sql<'_>, keys: &[i64], now: i64) -> Result<usize, Error> {
    const PURGE: &str = "INSERT INTO purges (session_key, cut_at) VALUES (?1, ?2)";
    for &key in keys {
        sql.execute(FORGET, [key])?;
        sql.execute(PURGE, [key, now])?;
    }
    Ok(keys.len())
}
