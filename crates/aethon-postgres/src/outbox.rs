//! The outbox: deliveries as rows, written together with the end of their turn and kept until they arrive or are given
//! up.
//!
//! A row repeats its session and turn as text, so that it stays complete if the session is removed before the delivery.

use aethon_core::channel::{
    DELIVERY_RECORDS, Delivery, DeliveryOutcome, DeliveryPage, DeliveryRecord, DeliveryState, NewDelivery,
    Outbox, WaitingDeliveries,
};
use aethon_core::error::Result as CoreResult;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::Attachment;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::messages::to_json;
use crate::store::Store;
use crate::time::{from_millis, to_millis};

const DUE: &str =
    "SELECT id, session, turn, channel, recipient, text, expires_at, attempts, attachments, outside, is_reply
    FROM outbox
    WHERE id IN (SELECT min(id) FROM outbox WHERE due_at <= $1
            AND (expires_at <= $1 OR channel <> ALL (ARRAY(SELECT jsonb_array_elements_text($3::jsonb))))
        GROUP BY channel, coalesce(recipient, id::text), recipient IS NULL) ORDER BY id LIMIT $2";
const NEXT_DUE: &str = "SELECT due_at FROM outbox WHERE due_at IS NOT NULL
    AND channel <> ALL (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))) ORDER BY due_at LIMIT 1";

#[async_trait]
impl WaitingDeliveries for Store {
    async fn make_due(&self, channel: &str) -> CoreResult<usize> {
        const MAKE_DUE: &str = "UPDATE outbox SET due_at = $2 WHERE due_at > $2 AND channel = $1";
        let (channel, now) = (channel.to_owned(), self.now());
        Ok(self.write(move |sql| sql.execute(MAKE_DUE, params![channel, now])).await?)
    }

    async fn has_waiting(&self, channel: &str, recipient: &str) -> CoreResult<bool> {
        const WAITING: &str = "SELECT 1 FROM outbox
            WHERE channel = $1 AND recipient = $2 AND recipient IS NOT NULL AND due_at IS NOT NULL LIMIT 1";
        let (channel, recipient) = (channel.to_owned(), recipient.to_owned());
        let read = move |sql: &Sql<'_>| Ok(sql.first(WAITING, [&channel, &recipient], |_| Ok(()))?.is_some());
        Ok(self.read(read).await?)
    }
}

#[async_trait]
impl Outbox for Store {
    async fn enqueue(&self, session: &SessionId, turn: &TurnId, content: NewDelivery) -> CoreResult<i64> {
        let (session, turn, now) = (session.as_str().to_owned(), turn.as_str().to_owned(), self.now());
        Ok(self.write(move |sql| insert(sql, (&session, &turn), &content, now)).await?)
    }

    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> CoreResult<Vec<Delivery>> {
        let (limit, but) = (i64::try_from(limit).unwrap_or(i64::MAX), to_json(&but)?);
        let read = move |sql: &Sql<'_>| sql.all(DUE, params![to_millis(now), limit, but], delivery);
        let deliveries = self.read(read).await?;
        Ok(deliveries.into_iter().flatten().collect())
    }

    async fn next_due(&self, but: &[String]) -> CoreResult<Option<Timestamp>> {
        let but = to_json(&but)?;
        let next = self.read(move |sql| sql.first(NEXT_DUE, [&but], |row| row.get::<i64>(0))).await?;
        Ok(next.map(from_millis))
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> CoreResult<()> {
        let now = self.now();
        self.write(move |sql| settle(sql, id, &outcome, now)).await?;
        Ok(())
    }

    async fn undelivered(&self, state: DeliveryState, limit: usize) -> CoreResult<DeliveryPage> {
        Ok(self.read(move |sql| undelivered(sql, state, limit)).await?)
    }

    async fn retry_delivery(&self, id: i64, expires_at: Timestamp) -> CoreResult<bool> {
        const RETRY: &str = "UPDATE outbox SET due_at = $2, settled_at = NULL, expires_at = $3
            WHERE id = $1 AND NOT is_delivered";
        let (now, expires_at) = (self.now(), to_millis(expires_at));
        Ok(self.write(move |sql| Ok(sql.execute(RETRY, [id, now, expires_at])? > 0)).await?)
    }

    async fn remove_delivery(&self, id: i64) -> CoreResult<bool> {
        const REMOVE: &str = "DELETE FROM outbox WHERE id = $1 AND NOT is_delivered";
        Ok(self.write(move |sql| Ok(sql.execute(REMOVE, [id])? > 0)).await?)
    }
}

fn undelivered(sql: &Sql<'_>, state: DeliveryState, limit: usize) -> Result<DeliveryPage, Error> {
    const WAITING: &str =
        "SELECT id, session, turn, channel, recipient, text, expires_at, attempts, attachments, outside,
        is_reply, error, created_at, due_at FROM outbox WHERE due_at IS NOT NULL ORDER BY id DESC LIMIT $1";
    const FAILED: &str =
        "SELECT id, session, turn, channel, recipient, text, expires_at, attempts, attachments, outside,
        is_reply, error, created_at, due_at FROM outbox
        WHERE settled_at IS NOT NULL AND NOT is_delivered ORDER BY id DESC LIMIT $1";
    const COUNT_WAITING: &str = "SELECT count(*) FROM outbox WHERE due_at IS NOT NULL";
    const COUNT_FAILED: &str = "SELECT count(*) FROM outbox
        WHERE settled_at IS NOT NULL AND NOT is_delivered";
    let (list, count) = match state {
        DeliveryState::Waiting => (WAITING, COUNT_WAITING),
        DeliveryState::Failed => (FAILED, COUNT_FAILED),
    };
    let record = |row: &Row<'_>| {
        let Some(delivery) = delivery(row)? else { return Ok(None) };
        let mut record = DeliveryRecord::new(delivery, state, from_millis(row.get(12)?));
        record.error = row.get(11)?;
        record.due_at = row.get::<Option<i64>>(13)?.map(from_millis);
        Ok(Some(record))
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = if limit > 0 { sql.all(list, [limit], record)? } else { Vec::new() };
    let count = sql.one(count, [], |row| row.get::<i64>(0))?;
    Ok(DeliveryPage { deliveries: rows.into_iter().flatten().collect(), count: count.unsigned_abs() })
}

/// Adds a delivery that is due at once, or after the last one to the same recipient. Returns its id.
pub(crate) fn insert(
    sql: &Sql<'_>,
    (session, turn): (&str, &str),
    delivery: &NewDelivery,
    now: i64,
) -> Result<i64, Error> {
    const INSERT: &str =
        "INSERT INTO outbox (session, turn, channel, recipient, text, attachments, outside, created_at, expires_at, due_at,
        is_reply) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id";
    // Deliveries to the same recipient arrive in the order in which they were stored.
    const LAST_DUE: &str = "SELECT max(due_at) FROM outbox
        WHERE channel = $1 AND recipient = $2 AND recipient IS NOT NULL AND due_at IS NOT NULL";
    // The deliveries of the turn before a restart, arrived or not.
    const SAME: &str =
        "SELECT id FROM outbox WHERE turn = $1 AND channel = $2 AND recipient IS NOT DISTINCT FROM $3 AND text = $4
        AND NOT is_reply LIMIT 1";
    let NewDelivery { channel, recipient, text, outside, expires_at, is_reply, .. } = delivery;
    if delivery.is_again
        && let Some(id) = sql.first(SAME, params![turn, channel, recipient, text], |row| row.get(0))?
    {
        return Ok(id);
    }
    let before = match recipient {
        Some(recipient) => sql.one(LAST_DUE, params![channel, recipient], |row| row.get::<Option<i64>>(0))?,
        None => None,
    };
    let due_at = before.map_or(now, |before| before.max(now));
    let files = (!delivery.attachments.is_empty()).then(|| to_json(&delivery.attachments)).transpose()?;
    let expires_at = to_millis(*expires_at);
    let values =
        params![session, turn, channel, recipient, text, files, outside, now, expires_at, due_at, is_reply];
    sql.insert(INSERT, values)
}

/// Removes the settled deliveries of a session, with the channel records about their text. Pending ones stay: a recipient
/// waits for them.
pub(crate) fn forget_settled(sql: &Sql<'_>, session: &str) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM outbox WHERE settled_at IS NOT NULL AND session = $1";
    const RECORDS: &str = "DELETE FROM channel_records WHERE (channel, name) IN
        (SELECT channel, $2 || id::text FROM outbox WHERE settled_at IS NOT NULL AND session = $1)";
    sql.execute(RECORDS, [session, DELIVERY_RECORDS])?;
    sql.execute(FORGET, [session])?;
    Ok(())
}

/// Removes up to `limit` deliveries settled earlier than `before`. Returns how many.
pub(crate) fn forget_before(sql: &Sql<'_>, before: i64, limit: i64) -> Result<usize, Error> {
    const FORGET: &str = "DELETE FROM outbox WHERE id IN
        (SELECT id FROM outbox WHERE settled_at < $1 ORDER BY settled_at LIMIT $2)";
    sql.execute(FORGET, [before, limit])
}

fn settle(sql: &Sql<'_>, id: i64, outcome: &DeliveryOutcome, now: i64) -> Result<(), Error> {
    const SETTLE: &str =
        "UPDATE outbox SET attempts = attempts + 1, due_at = $2, settled_at = $3, is_delivered = $4,
        error = $5 WHERE id = $1 AND due_at IS NOT NULL";
    const HOLD: &str = "UPDATE outbox SET due_at = $2, error = $3 WHERE id = $1 AND due_at IS NOT NULL";
    const RETURN: &str = "UPDATE outbox SET is_delivered = FALSE, error = $2 WHERE id = $1 AND is_delivered";
    const EXISTS: &str = "SELECT 1 FROM outbox WHERE id = $1";
    let changed = match outcome {
        DeliveryOutcome::Delivered => sql.execute(SETTLE, params![id, None::<i64>, now, true, None::<&str>]),
        DeliveryOutcome::Retry { at, error } => {
            let at = to_millis(*at);
            let changed = sql.execute(SETTLE, params![id, at, None::<i64>, false, error])?;
            hold_back(sql, id, at)?;
            Ok(changed)
        }
        DeliveryOutcome::Held { at, error } => {
            let at = to_millis(*at);
            let changed = sql.execute(HOLD, params![id, at, error])?;
            hold_back(sql, id, at)?;
            Ok(changed)
        }
        DeliveryOutcome::Failed { error } => sql.execute(SETTLE, params![id, None::<i64>, now, false, error]),
        DeliveryOutcome::Returned { error } => sql.execute(RETURN, params![id, error]),
    }?;
    // A settled delivery stays as it is: a second report about it says nothing new.
    if changed == 0 && sql.first(EXISTS, [id], |_| Ok(()))?.is_none() {
        return Err(aethon_core::error::Error::not_found(format!("there is no delivery {id}")).into());
    }
    Ok(())
}

/// Postpones later deliveries to the same recipient until this one is due.
fn hold_back(sql: &Sql<'_>, id: i64, until: i64) -> Result<(), Error> {
    const TO: &str = "SELECT channel, recipient FROM outbox WHERE id = $1 AND due_at IS NOT NULL";
    const HOLD: &str = "UPDATE outbox SET due_at = $4
        WHERE channel = $1 AND recipient = $2 AND recipient IS NOT NULL AND id > $3 AND due_at < $4";
    let to = |row: &Row<'_>| Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?));
    if let Some((channel, Some(recipient))) = sql.first(TO, [id], to)? {
        sql.execute(HOLD, params![channel, recipient, id, until])?;
    }
    Ok(())
}

/// Reads the attachments of a row. If manual editing broke their JSON they are dropped; the text still arrives.
fn files(row: &Row<'_>) -> Result<Vec<Attachment>, Error> {
    let Some(json) = row.text_or_null(8)? else { return Ok(Vec::new()) };
    Ok(serde_json::from_str(json).unwrap_or_else(|error| {
        tracing::error!(%error, "the files of a delivery cannot be read; it goes without them");
        Vec::new()
    }))
}

/// Reads a delivery; `None` if its session id is invalid (the file was edited by hand).
fn delivery(row: &Row<'_>) -> Result<Option<Delivery>, Error> {
    let Ok(session) = SessionId::parse(row.text(1)?) else { return Ok(None) };
    let content = NewDelivery::new(row.text(3)?, row.text(5)?, from_millis(row.get(6)?))
        .with_recipient(row.text_or_null(4)?.map(str::to_owned))
        .with_attachments(files(row)?)
        .with_outside(row.get(9)?)
        .as_reply(row.get(10)?);
    let turn = TurnId::existing(row.text(2)?);
    Ok(Some(Delivery::new(row.get(0)?, session, turn, content).with_attempts(row.get(7)?)))
}
