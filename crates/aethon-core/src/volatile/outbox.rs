//! The in-memory outbox.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;

use super::store::MemoryStore;
use super::tables::DeliveryRow;
use crate::channel::{
    Delivery, DeliveryOutcome, DeliveryPage, DeliveryRecord, DeliveryState, NewDelivery, Outbox,
    WaitingDeliveries,
};
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};

#[async_trait]
impl WaitingDeliveries for MemoryStore {
    async fn make_due(&self, channel: &str) -> Result<usize> {
        let (mut tables, now) = (self.enter("make_due")?, self.clock.now());
        let mut count = 0;
        for row in tables.deliveries.iter_mut().filter(|row| row.delivery.content.channel == channel) {
            if row.due_at.is_some_and(|at| at > now) {
                row.due_at = Some(now);
                count += 1;
            }
        }
        Ok(count)
    }

    async fn has_waiting(&self, channel: &str, recipient: &str) -> Result<bool> {
        let tables = self.enter("has_waiting")?;
        Ok(tables.deliveries.iter().filter(|row| row.due_at.is_some()).any(|row| {
            let content = &row.delivery.content;
            content.channel == channel && content.recipient.as_deref() == Some(recipient)
        }))
    }
}

#[async_trait]
impl Outbox for MemoryStore {
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> Result<i64> {
        let (mut tables, now) = (self.enter("enqueue")?, self.clock.now());
        let is_same = |known: &Delivery| {
            let (known, new) = (&known.content, &content);
            (&known.channel, &known.recipient, &known.text) == (&new.channel, &new.recipient, &new.text)
                && !known.is_reply
        };
        let before = tables.deliveries.iter().map(|row| &row.delivery);
        let before = before.filter(|known| known.turn == *turn).find(|known| is_same(known));
        if let Some(before) = before.filter(|_| content.is_again) {
            return Ok(before.id);
        }
        let id = tables.next_number();
        let delivery = Delivery::new(id, session.clone(), turn.clone(), content);
        let due_at = now.max(tables.last_due(&delivery.content).unwrap_or(now));
        let mut row = DeliveryRow::new(delivery, now);
        row.due_at = Some(due_at);
        tables.deliveries.push(row);
        Ok(id)
    }

    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> Result<Vec<Delivery>> {
        let tables = self.enter("due")?;
        let due = tables.deliveries.iter().filter(|row| row.due_at.is_some_and(|at| at <= now));
        let due = due.filter(|row| {
            let content = &row.delivery.content;
            content.expires_at <= now || !but.contains(&content.channel)
        });
        let mut recipients = BTreeSet::new();
        let first = due.filter(|row| {
            let content = &row.delivery.content;
            let recipient = content.recipient.as_deref();
            recipient.is_none_or(|recipient| recipients.insert((content.channel.as_str(), recipient)))
        });
        Ok(first.take(limit).map(|row| row.delivery.clone()).collect())
    }

    async fn next_due(&self, but: &[String]) -> Result<Option<Timestamp>> {
        let tables = self.enter("next_due")?;
        let rows = tables.deliveries.iter().filter(|row| !but.contains(&row.delivery.content.channel));
        Ok(rows.filter_map(|row| row.due_at).min())
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()> {
        let (mut tables, now) = (self.enter("settle")?, self.clock.now());
        let row = tables.deliveries.iter_mut().find(|row| row.delivery.id == id);
        let row = row.ok_or_else(|| Error::not_found(format!("there is no delivery {id}")))?;
        if let DeliveryOutcome::Returned { error } = outcome {
            if row.is_delivered {
                (row.is_delivered, row.error) = (false, Some(error));
            }
            return Ok(());
        }
        // A settled delivery stays as it is: a second report about it says nothing new.
        if row.settled_at.is_some() {
            return Ok(());
        }
        row.delivery.attempts += u32::from(!matches!(outcome, DeliveryOutcome::Held { .. }));
        row.is_delivered = outcome == DeliveryOutcome::Delivered;
        match outcome {
            DeliveryOutcome::Retry { at, error } | DeliveryOutcome::Held { at, error } => {
                (row.due_at, row.error) = (Some(at), Some(error));
                let content = row.delivery.content.clone();
                tables.hold_back(id, &content, at);
            }
            DeliveryOutcome::Delivered => (row.due_at, row.settled_at, row.error) = (None, Some(now), None),
            DeliveryOutcome::Failed { error } | DeliveryOutcome::Returned { error } => {
                (row.due_at, row.settled_at, row.error) = (None, Some(now), Some(error));
            }
        }
        Ok(())
    }

    async fn undelivered(&self, state: DeliveryState, limit: usize) -> Result<DeliveryPage> {
        let tables = self.enter("undelivered")?;
        let rows = || tables.deliveries.iter().rev().filter(|row| state_of(row) == Some(state));
        let record = |row: &DeliveryRow| {
            let mut record = DeliveryRecord::new(row.delivery.clone(), state, row.created_at);
            (record.error, record.due_at) = (row.error.clone(), row.due_at);
            record
        };
        Ok(DeliveryPage {
            deliveries: rows().take(limit).map(record).collect(),
            count: rows().count() as u64,
        })
    }

    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> Result<bool> {
        let (mut tables, now) = (self.enter("retry_delivery")?, self.clock.now());
        let row = tables.deliveries.iter_mut().find(|row| row.delivery.id == id && !row.is_delivered);
        let Some(row) = row else { return Ok(false) };
        (row.due_at, row.settled_at) = (Some(now), None);
        row.delivery.content.expires_at = expires_at;
        Ok(true)
    }

    async fn remove_delivery(&self, id: i64) -> Result<bool> {
        let mut tables = self.enter("remove_delivery")?;
        let before = tables.deliveries.len();
        tables.deliveries.retain(|row| row.delivery.id != id || row.is_delivered);
        Ok(tables.deliveries.len() < before)
    }
}

fn state_of(row: &DeliveryRow) -> Option<DeliveryState> {
    match (row.settled_at, row.is_delivered) {
        (None, _) => Some(DeliveryState::Waiting),
        (Some(_), false) => Some(DeliveryState::Failed),
        (Some(_), true) => None,
    }
}
