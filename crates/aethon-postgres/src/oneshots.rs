//! One-shot sessions: how many there are, how large they are, and which of them go first.
//!
//! They are what fills a database unasked: each call of a webhook leaves one. So they are bounded in number and in bytes.
//! Those of webhooks go first, the longest unused
//! ones before the others; the runs of the owner's own jobs are one-shot sessions as well.

use aethon_core::storage::OneshotLimit;

use crate::db::Sql;
use crate::error::Error;

/// One of them.
pub(crate) struct Oneshot {
    pub(crate) id: String,
    pub(crate) bytes: u64,
    /// Whether a turn is open in it, so that it stays.
    pub(crate) is_busy: bool,
}

/// Lists all of them, those that go first at the beginning.
pub(crate) fn all(sql: &Sql<'_>) -> Result<Vec<Oneshot>, Error> {
    const ALL: &str = "SELECT id,
        (SELECT coalesce(sum(octet_length(content)), 0) FROM messages
            WHERE messages.session_key = sessions.session_key)
        + (SELECT coalesce(sum(octet_length(inbound) + coalesce(octet_length(outcome), 0)), 0) FROM turns
            WHERE turns.session_key = sessions.session_key),
        EXISTS (SELECT 1 FROM turns WHERE turns.session_key = sessions.session_key AND phase < 2)
        FROM sessions WHERE is_oneshot ORDER BY channel <> 'webhook', updated_at";
    sql.all(ALL, [], |row| {
        let bytes: i64 = row.get(1)?;
        Ok(Oneshot { id: row.get(0)?, bytes: bytes.unsigned_abs(), is_busy: row.get(2)? })
    })
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
