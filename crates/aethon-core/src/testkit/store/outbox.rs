//! The outbox of the storage in memory.

use async_trait::async_trait;
use jiff::Timestamp;

use super::MemoryStore;
use super::tables::DeliveryRow;
use crate::channel::{Delivery, DeliveryOutcome, NewDelivery, Outbox};
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};

#[async_trait]
impl Outbox for MemoryStore {
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64> {
        let (mut tables, now) = (self.enter("enqueue")?, self.clock.now());
        let id = tables.next_number();
        let delivery = Delivery::new(id, session.clone(), turn.clone(), content);
        let due_at = Some(now.max(tables.last_due(&delivery.content).unwrap_or(now)));
        tables.deliveries.push(DeliveryRow { delivery, due_at, settled_at: None });
        Ok(id)
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Delivery>> {
        let tables = self.enter("due")?;
        let due = tables.deliveries.iter().filter(|row| row.due_at.is_some_and(|at| at <= now));
        Ok(due.take(limit).map(|row| row.delivery.clone()).collect())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        Ok(self.enter("next_due")?.deliveries.iter().filter_map(|row| row.due_at).min())
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()> {
        let (mut tables, now) = (self.enter("settle")?, self.clock.now());
        let row = tables.deliveries.iter_mut().find(|row| row.delivery.id == id);
        let row = row.ok_or_else(|| Error::not_found(format!("there is no delivery {id}")))?;
        // One that is settled already stays as it is: a second report about it says nothing new.
        if row.settled_at.is_some() {
            return Ok(());
        }
        row.delivery.attempts += 1;
        match outcome {
            DeliveryOutcome::Retry { at, .. } => {
                row.due_at = Some(at);
                let content = row.delivery.content.clone();
                tables.hold_back(id, &content, at);
            }
            DeliveryOutcome::Delivered | DeliveryOutcome::Failed { .. } => {
                (row.due_at, row.settled_at) = (None, Some(now));
            }
        }
        Ok(())
    }
}
