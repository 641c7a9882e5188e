//! One-shot sessions: how many there are, how large they are, and which of them go first.
//!
//! They are what fills a database unasked: each call of a webhook leaves one. So they are bounded in number and in bytes,
//! and when the file has no room left they go before anything is refused. Those of webhooks go first, the longest unused
//! ones before the others; the runs of the owner's own jobs are one-shot sessions as well.

use aethon_core::session::Clear;
use aethon_core::storage::OneshotLimit;

use crate::db::{Sql, free_pages, used_bytes};
use crate::error::Error;
use crate::{bin, purge};

/// Steps of removal for one message that finds no room. A step is a session, or a few messages of one.
const MAX_STEPS: usize = 256;
/// How much larger a message becomes in the file than its text: as it came, as a message, its words in the index.
const GROWTH: u64 = 3;

/// One of them.
pub(crate) struct Oneshot {
    pub(crate) id: String,
    pub(crate) bytes: u64,
    /// Whether a turn is open in it, so that it stays.
    pub(crate) is_busy: bool,
}

/// Lists all of them, those that go first at the beginning.
pub(crate) fn all(sql: &Sql<'_>) -> Result<Vec<Oneshot>, Error> {
    // The length of a text is in the head of its row, so none is read.
    const ALL: &str = "SELECT id,
        (SELECT coalesce(sum(octet_length(content)), 0) FROM messages
            WHERE messages.session_key = sessions.session_key)
        + (SELECT coalesce(sum(octet_length(inbound) + coalesce(octet_length(outcome), 0)), 0) FROM turns
            WHERE turns.session_key = sessions.session_key),
        EXISTS (SELECT 1 FROM turns WHERE turns.session_key = sessions.session_key AND phase < 2)
        FROM sessions WHERE is_oneshot ORDER BY channel <> 'webhook', updated_at";
    Ok(sql.all(ALL, [], |row| {
        let bytes: i64 = row.get(1)?;
        Ok(Oneshot { id: row.get(0)?, bytes: bytes.unsigned_abs(), is_busy: row.get(2)? })
    })?)
}

/// Returns those that have to go to keep within a limit, and how many bytes would then be left.
pub(crate) fn surplus(all: Vec<Oneshot>, limit: OneshotLimit) -> (Vec<String>, u64) {
    let mut count = all.len();
    let mut bytes = all.iter().fold(0u64, |sum, one| sum.saturating_add(one.bytes));
    let most = usize::try_from(limit.sessions).unwrap_or(usize::MAX);
    // Once too many, a little more than necessary goes, so that the next one does not count all again.
    let (most_bytes, goal) = (limit.bytes, limit.bytes - limit.bytes / 8);
    let too_large = bytes > most_bytes;
    let mut gone = Vec::new();
    for one in all.into_iter().filter(|one| !one.is_busy) {
        if count <= most && !(too_large && bytes > goal) {
            break;
        }
        count -= 1;
        bytes = bytes.saturating_sub(one.bytes);
        gone.push(one.id);
    }
    (gone, bytes)
}

/// Makes room for a message of a stranger of this many bytes, within the part of the file that strangers may fill. Returns
/// whether there is room now.
pub(crate) fn make_room_below(sql: &Sql<'_>, mark: u64, message: u64, now: i64) -> Result<bool, Error> {
    let needed = message.saturating_mul(GROWTH);
    let fits = |sql: &Sql<'_>| Ok::<_, Error>(used_bytes(sql)?.saturating_add(needed) <= mark);
    // What the owner has deleted and may want back does not make room for strangers.
    remove_until(sql, |sql| remove_first(sql, now), fits)
}

/// Makes room for a write that lacks this many pages. Returns whether there is room now.
pub(crate) fn free(sql: &Sql<'_>, pages: i64) -> Result<bool, Error> {
    let wanted = free_pages(sql)?.saturating_add(pages);
    let now = sql.one("SELECT coalesce(max(updated_at), 0) FROM sessions", [], |row| row.get(0))?;
    let remove = |sql: &Sql<'_>| Ok(bin::discard_oldest(sql, now)? || remove_first(sql, now)?);
    remove_until(sql, remove, |sql| Ok(free_pages(sql)? >= wanted))
}

/// Removes something at a time until there is enough room; `false` if nothing more can be removed.
fn remove_until(
    sql: &Sql<'_>,
    remove: impl Fn(&Sql<'_>) -> Result<bool, Error>,
    is_enough: impl Fn(&Sql<'_>) -> Result<bool, Error>,
) -> Result<bool, Error> {
    for _ in 0..MAX_STEPS {
        if is_enough(sql)? {
            return Ok(true);
        }
        // First the removed rows that still take up space.
        if !purge::purge_some(sql)? && !remove(sql)? {
            return Ok(false);
        }
    }
    is_enough(sql)
}

/// Removes the one that goes first. Returns `false` if there is none, or all are in use.
fn remove_first(sql: &Sql<'_>, now: i64) -> Result<bool, Error> {
    const FIRST: &str = "SELECT id FROM sessions WHERE is_oneshot AND NOT EXISTS
        (SELECT 1 FROM turns WHERE turns.session_key = sessions.session_key AND phase < 2)
        ORDER BY channel <> 'webhook', updated_at LIMIT 1";
    let Some(id) = sql.first(FIRST, [], |row| row.get::<_, String>(0))? else { return Ok(false) };
    tracing::info!(session = id, "a one-shot session was removed, because the database is full");
    Ok(purge::detach(sql, &id, &Clear::Delete, now)?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surplus_of(all: &[(&str, u64, bool)], sessions: u32, bytes: u64) -> (Vec<String>, u64) {
        let all = all.iter().map(|(id, bytes, is_busy)| Oneshot {
            id: (*id).to_owned(),
            bytes: *bytes,
            is_busy: *is_busy,
        });
        surplus(all.collect(), OneshotLimit::of(sessions).with_bytes(bytes))
    }

    #[test]
    fn the_first_idle_sessions_are_removed() {
        let all = [("a", 40, true), ("b", 40, false), ("c", 40, false), ("d", 40, false)];
        let check = |sessions: u32, bytes: u64, gone: &[&str], left: u64| {
            let (ids, bytes_left) = surplus_of(&all, sessions, bytes);
            assert_eq!((ids, bytes_left), (gone.iter().map(|id| (*id).to_owned()).collect(), left));
        };
        check(4, 160, &[], 160);
        check(3, 160, &["b"], 120);
        check(4, 159, &["b"], 120);
        check(4, 100, &["b", "c"], 80);
        check(2, 159, &["b", "c"], 80);
        check(0, 0, &["b", "c", "d"], 40);
    }
}
