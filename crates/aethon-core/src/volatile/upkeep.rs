//! Maintenance of the in-memory storage.

use async_trait::async_trait;
use jiff::SignedDuration;

use super::store::MemoryStore;
use crate::error::Result;
use crate::ids::SessionId;
use crate::session::TurnPhase;
use crate::storage::{Removed, Retention, StorageMarks, Upkeep};

/// How long deliveries are kept after they have arrived or were given up.
const SETTLED: SignedDuration = SignedDuration::from_hours(7 * 24);

#[async_trait]
impl Upkeep for MemoryStore {
    async fn maintain(&self, retention: Retention) -> Result<Removed> {
        let (mut tables, now) = (self.enter("maintain")?, self.clock.now());
        let kept = SignedDuration::from_hours(i64::from(retention.oneshots).saturating_mul(24));
        let is_busy = |id: &SessionId| {
            let mut turns = tables.turns.values();
            turns.any(|row| row.record.inbound.session == *id && row.record.phase != TurnPhase::Done)
        };
        let old: Vec<SessionId> = tables
            .sessions
            .iter()
            .filter(|(id, row)| row.is_oneshot && now.duration_since(row.updated_at) > kept && !is_busy(id))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &old {
            tables.sessions.remove(id);
            tables.forget_turns(id, now);
            tables.deliveries.retain(|row| row.settled_at.is_none() || row.delivery.session != *id);
        }
        let binned_before = tables.bin.len();
        let bin_days = SignedDuration::from_hours(i64::from(retention.bin).saturating_mul(24));
        tables.bin.retain(|row| now.duration_since(row.deleted_at) <= bin_days);
        let binned = binned_before - tables.bin.len();
        let before = tables.deliveries.len();
        tables
            .deliveries
            .retain(|row| row.settled_at.is_none_or(|settled| now.duration_since(settled) <= SETTLED));
        let deliveries = before - tables.deliveries.len();
        let mut dedupe_ids = 0;
        for row in tables.turns.values_mut().filter(|row| row.known_until.is_some_and(|until| until <= now)) {
            (row.known_until, row.record.inbound.dedupe) = (None, None);
            dedupe_ids += 1;
        }
        tables.turns.retain(|_, row| !row.is_shell || row.record.inbound.dedupe.is_some());
        for row in tables.sessions.values_mut() {
            row.updated_at = row.updated_at.min(now);
        }
        tables.noted.maintained_at = Some(now);
        Ok(Removed { sessions: old.len(), deliveries, dedupe_ids, binned, ..Removed::default() })
    }

    async fn marks(&self) -> Result<StorageMarks> {
        let tables = self.enter("marks")?;
        let latest = tables.turns.values().map(|row| row.record.accepted_at).max();
        Ok(StorageMarks { maintained_at: tables.noted.maintained_at, latest, defaults_wait: None })
    }

    async fn close(&self) {}
}
