//! Telemetry events as rows, bounded in number, and their totals by day.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use aethon_core::error::Result as CoreResult;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::WorkKind;
use aethon_core::telemetry::{
    MAX_EVENTS, ModelFacts, StoredEvent, TelemetryEvent, TelemetryKind, TelemetryLog, TelemetryQuery,
    TelemetryStatus, TelemetrySum, bucket_of,
};
use async_trait::async_trait;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::db::{Row, Sql, params};
use crate::error::Error;
use crate::messages::to_json;
use crate::money::{BILLIONTHS_PER_USD, dollars};
use crate::store::Store;
use crate::time::{day_number, from_millis, to_millis};

/// Upper bound for one addition to a sum, so that sums stay far from overflow.
const MAX_COUNT: f64 = 1e15;

#[async_trait]
impl TelemetryLog for Store {
    async fn keep_events(&self, events: Vec<TelemetryEvent>) -> CoreResult<()> {
        let sums = summed(&events);
        self.write(move |sql| {
            for event in &events {
                append(sql, event)?;
            }
            for (key, sum) in &sums {
                add(sql, key, sum)?;
            }
            bound(sql)
        })
        .await?;
        Ok(())
    }

    async fn events(&self, query: TelemetryQuery) -> CoreResult<Vec<StoredEvent>> {
        let rows = self.read(move |sql| newest(sql, &query)).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    async fn event_sums(&self, days: RangeInclusive<Date>) -> CoreResult<Vec<TelemetrySum>> {
        const SUMS: &str = "SELECT type, name, status, bucket, sum(count)::bigint, sum(seconds), sum(input_tokens)::bigint,
            sum(output_tokens)::bigint, sum(cost)::bigint FROM telemetry_sums WHERE day BETWEEN $1 AND $2 GROUP BY type, name, status, bucket";
        let number = |day: &Date, otherwise| {
            let midnight = day.at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC);
            midnight.map_or(otherwise, |midnight| day_number(to_millis(midnight.timestamp())))
        };
        let days = [number(days.start(), i64::MIN), number(days.end(), i64::MAX)];
        let rows = self.read(move |sql| sql.all(SUMS, days, sum)).await?;
        Ok(rows.into_iter().flatten().collect())
    }
}

/// Removes up to `limit` events and all sums from before this day. Returns how many.
pub(crate) fn forget_before(sql: &Sql<'_>, day: i64, limit: i64) -> Result<usize, Error> {
    const EVENTS: &str =
        "DELETE FROM telemetry WHERE id IN (SELECT id FROM telemetry WHERE at < $1 ORDER BY at LIMIT $2)";
    const SUMS: &str = "DELETE FROM telemetry_sums WHERE day < $1";
    let events = sql.execute(EVENTS, [day.saturating_mul(86_400_000), limit])?;
    Ok(events + sql.execute(SUMS, [day])?)
}

fn append(sql: &Sql<'_>, event: &TelemetryEvent) -> Result<(), Error> {
    const APPEND: &str =
        "INSERT INTO telemetry (at, type, name, status, seconds, session_id, turn, detail, call)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let TelemetryEvent { kind, name, status, duration, timestamp, session_id, turn, detail, call, .. } =
        event;
    let (session, turn) = (session_id.as_ref().map(SessionId::as_str), turn.as_ref().map(TurnId::as_str));
    let call = call.as_ref().map(|call| to_json(&StoredCall::of(call))).transpose()?;
    let seconds = duration.filter(|seconds| seconds.is_finite());
    let (kind, status, at) = (kind.as_str(), status.as_str(), to_millis(*timestamp));
    sql.execute(APPEND, params![at, kind, name, status, seconds, session, turn, detail, call])?;
    Ok(())
}

/// Keeps only the newest events.
fn bound(sql: &Sql<'_>) -> Result<(), Error> {
    const BOUND: &str = "DELETE FROM telemetry WHERE id <= (SELECT max(id) FROM telemetry) - $1";
    sql.execute(BOUND, [MAX_EVENTS])?;
    Ok(())
}

/// A model call as stored. The field names are the storage format and independent of the program's types.
#[derive(Serialize, Deserialize)]
struct StoredCall {
    provider: String,
    model: String,
    kind: WorkKind,
    input: u64,
    output: u64,
    cached: u64,
    usd: f64,
}

impl StoredCall {
    fn of(call: &ModelFacts) -> Self {
        Self {
            provider: call.provider.clone(),
            model: call.model.clone(),
            kind: call.kind,
            input: call.input_tokens,
            output: call.output_tokens,
            cached: call.cached_tokens,
            usd: call.cost_usd,
        }
    }

    fn facts(self) -> ModelFacts {
        let mut facts = ModelFacts::new(self.provider, self.model, self.kind);
        (facts.input_tokens, facts.output_tokens) = (self.input, self.output);
        (facts.cached_tokens, facts.cost_usd) = (self.cached, self.usd);
        facts
    }
}

/// Day, kind, name, status and bucket.
type SumKey = (i64, TelemetryKind, String, TelemetryStatus, i64);

#[derive(Default)]
struct SumValues {
    count: i64,
    seconds: f64,
    input: i64,
    output: i64,
    cost: i64,
}

/// Adds up the events of a batch, so that each sum is written once per batch.
fn summed(events: &[TelemetryEvent]) -> HashMap<SumKey, SumValues> {
    let mut sums: HashMap<SumKey, SumValues> = HashMap::new();
    for event in events {
        let day = day_number(to_millis(event.timestamp));
        let key = (day, event.kind, event.name.clone(), event.status, bucket_of(event.duration));
        let sum = sums.entry(key).or_default();
        sum.count += 1;
        sum.seconds += event.duration.filter(|seconds| seconds.is_finite()).unwrap_or_default();
        // Only calls count: the event of a turn repeats the usage of its calls.
        if let (TelemetryKind::ModelCall, Some(call)) = (event.kind, &event.call) {
            sum.input = sum.input.saturating_add(whole(call.input_tokens as f64));
            sum.output = sum.output.saturating_add(whole(call.output_tokens as f64));
            sum.cost = sum.cost.saturating_add(whole(call.cost_usd * BILLIONTHS_PER_USD));
        }
    }
    sums
}

/// Rounds an amount. Values that are no valid amount become 0.
fn whole(amount: f64) -> i64 {
    if amount.is_nan() { 0 } else { amount.clamp(0.0, MAX_COUNT).round() as i64 }
}

fn add(sql: &Sql<'_>, (day, kind, name, status, bucket): &SumKey, sum: &SumValues) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO telemetry_sums VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (day, type, name, status, bucket) DO UPDATE SET count = telemetry_sums.count + $6,
        seconds = telemetry_sums.seconds + $7, input_tokens = telemetry_sums.input_tokens + $8,
        output_tokens = telemetry_sums.output_tokens + $9, cost = telemetry_sums.cost + $10";
    let (kind, status) = (kind.as_str(), status.as_str());
    let SumValues { count, seconds, input, output, cost } = sum;
    sql.execute(ADD, params![day, kind, name, status, bucket, count, seconds, input, output, cost])?;
    Ok(())
}

fn newest(sql: &Sql<'_>, query: &TelemetryQuery) -> Result<Vec<Option<StoredEvent>>, Error> {
    const ALL: &str =
        "SELECT id, at, type, name, status, seconds, session_id, turn, detail, call FROM telemetry
        WHERE id < $1 AND at >= $2 ORDER BY id DESC LIMIT $3";
    const OF_KIND: &str = "SELECT id, at, type, name, status, seconds, session_id, turn, detail, call
        FROM telemetry WHERE type = $4 AND id < $1 AND at >= $2 ORDER BY id DESC LIMIT $3";
    let before = query.before.unwrap_or(i64::MAX);
    let since = query.since.map_or(i64::MIN, to_millis);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    Ok(match query.kind {
        None => sql.all(ALL, [before, since, limit], read)?,
        Some(kind) => sql.all(OF_KIND, params![before, since, limit, kind.as_str()], read)?,
    })
}

/// Reads an event; `None` if another version wrote it.
fn read(row: &Row<'_>) -> Result<Option<StoredEvent>, Error> {
    let kind = TelemetryKind::from_word(row.text(2)?);
    let status = TelemetryStatus::from_word(row.text(4)?);
    let (Some(kind), Some(status)) = (kind, status) else { return Ok(None) };
    let mut event = TelemetryEvent::new(kind, row.text(3)?, status, from_millis(row.get(1)?));
    event.duration = row.get(5)?;
    event.session_id = row.text_or_null(6)?.and_then(|id| SessionId::parse(id).ok());
    event.turn = row.text_or_null(7)?.map(TurnId::existing);
    event.detail = row.get(8)?;
    let call = row.text_or_null(9)?;
    event.call = call.and_then(|call| serde_json::from_str::<StoredCall>(call).ok()).map(StoredCall::facts);
    Ok(Some(StoredEvent { id: row.get(0)?, event }))
}

fn sum(row: &Row<'_>) -> Result<Option<TelemetrySum>, Error> {
    let kind = TelemetryKind::from_word(row.text(0)?);
    let status = TelemetryStatus::from_word(row.text(2)?);
    let (Some(kind), Some(status)) = (kind, status) else { return Ok(None) };
    let number = |column: usize| row.get::<i64>(column).map(i64::unsigned_abs);
    Ok(Some(TelemetrySum {
        kind,
        name: row.get(1)?,
        status,
        bucket: row.get(3)?,
        count: number(4)?,
        seconds: row.get(5)?,
        input_tokens: number(6)?,
        output_tokens: number(7)?,
        cost_usd: dollars(row.get(8)?),
    }))
}
