//! Audit log of permissions and refusals: append-only, bounded, read newest first.

use aethon_core::audit::{AuditAction, AuditEntry, AuditLog, MAX_CAUSED, MAX_ROWS};
use aethon_core::error::Result as CoreResult;
use aethon_core::ids::{SessionId, TurnId};
use async_trait::async_trait;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::store::Store;
use crate::time::{from_millis, to_millis};

/// After how many new rows the surplus is counted and removed.
const COUNTED_EVERY: i64 = 64;

#[async_trait]
impl AuditLog for Store {
    async fn record(&self, entry: AuditEntry) -> CoreResult<()> {
        Ok(self.write(move |sql| append(sql, &entry)).await?)
    }

    async fn newest(&self, limit: usize) -> CoreResult<Vec<AuditEntry>> {
        let rows = self.read(move |sql| newest(sql, limit)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn newest_of(&self, action: AuditAction, limit: usize) -> CoreResult<Vec<AuditEntry>> {
        const NEWEST: &str = "SELECT at, action, subject, outcome, by, detail, session_id, turn FROM audit
            WHERE action = $1 ORDER BY id DESC LIMIT $2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read(move |sql| sql.all(NEWEST, params![action.as_str(), limit], read)).await?;
        Ok(rows.into_iter().flatten().collect())
    }
}

fn append(sql: &Sql<'_>, entry: &AuditEntry) -> Result<(), Error> {
    const APPEND: &str = "INSERT INTO audit (at, action, subject, outcome, by, detail, session_id, turn)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id";
    let session = entry.session_id.as_ref().map(SessionId::as_str);
    let turn = entry.turn.as_ref().map(TurnId::as_str);
    let AuditEntry { at, action, subject, outcome, by, detail, .. } = entry;
    let id = sql.insert(
        APPEND,
        params![to_millis(*at), action.as_str(), subject, outcome, by, detail, session, turn],
    )?;
    // To count them all for each row would cost more than a few rows too many.
    if id % COUNTED_EVERY == 0 { bound(sql) } else { Ok(()) }
}

/// Removes the rows that are too many: the oldest of those that strangers cause as long as they take more than their share,
/// and then the oldest of all.
fn bound(sql: &Sql<'_>) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*), count(*) FILTER (WHERE action = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))) FROM audit";
    const DROP_CAUSED: &str = "DELETE FROM audit WHERE id IN (SELECT id FROM audit
        WHERE action = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))) ORDER BY id LIMIT $2)";
    const DROP: &str = "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT $1)";
    let causable = AuditAction::ALL.into_iter().filter(|action| action.is_causable());
    let kinds = format!(
        "[{}]",
        causable.map(|action| format!("\"{}\"", action.as_str())).collect::<Vec<_>>().join(",")
    );
    let count = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?));
    let Some((all, caused)) = sql.first(COUNT, [&kinds], count)? else { return Ok(()) };
    let surplus = (all - i64::from(MAX_ROWS)).max(0);
    let caused = surplus.min(caused - i64::from(MAX_CAUSED)).max(0);
    if caused > 0 {
        sql.execute(DROP_CAUSED, params![kinds, caused])?;
    }
    if surplus > caused {
        sql.execute(DROP, [surplus - caused])?;
    }
    Ok(())
}

fn newest(sql: &Sql<'_>, limit: usize) -> Result<Vec<Option<AuditEntry>>, Error> {
    const NEWEST: &str = "SELECT at, action, subject, outcome, by, detail, session_id, turn FROM audit
        ORDER BY id DESC LIMIT $1";
    sql.all(NEWEST, [i64::try_from(limit).unwrap_or(i64::MAX)], read)
}

/// Reads one entry; `None` if another version wrote it.
fn read(row: &Row<'_>) -> Result<Option<AuditEntry>, Error> {
    let action: String = row.get(1)?;
    let Some(action) = AuditAction::from_word(&action) else { return Ok(None) };
    let (session, turn): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
    let (subject, outcome): (String, String) = (row.get(2)?, row.get(3)?);
    let mut entry = AuditEntry::new(from_millis(row.get(0)?), action, subject, outcome);
    (entry.by, entry.detail) = (row.get(4)?, row.get(5)?);
    entry.session_id = session.and_then(|id| SessionId::parse(&id).ok());
    entry.turn = turn.as_deref().map(TurnId::existing);
    Ok(Some(entry))
}
