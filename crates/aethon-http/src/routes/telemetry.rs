//! `/api/telemetry`: telemetry events, newest first, and their summary.

use aethon_core::telemetry::{StoredEvent, TelemetryKind, TelemetryLog, TelemetryQuery};
use aethon_core::usage::day_of;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use serde::Serialize;

use self::summary::{DaySummary, TelemetrySummary};
use crate::deps::{Activity, Runtime};
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

mod summary;

/// How many days are summarised one by one at most.
const MAX_DAYS: usize = 31;

#[derive(Serialize)]
struct Told {
    enabled: bool,
    summary: TelemetrySummary,
    /// The requested number of days, oldest first.
    days: Vec<DaySummary>,
    metrics: Vec<StoredEvent>,
    next_cursor: Option<String>,
    /// Events that were lost because the storage failed for too long.
    dropped: u64,
}

/// `GET /api/telemetry?limit&type&since&cursor&days`. The summary covers all stored days, regardless of the query.
pub(super) async fn newest((activity, runtime): (Activity, Runtime), request: Request) -> HandlerResult {
    let limit = request.number("limit", 100, 1..=1000)?;
    let query =
        TelemetryQuery { limit, kind: kind(&request)?, since: since(&request)?, before: cursor(&request)? };
    let log = &activity.telemetry;
    let today = day_of(runtime.clock.now());
    let days = by_day(&**log, today, request.number("days", 0, 0..=MAX_DAYS)?).await?;
    let all = log.event_sums(Date::MIN..=Date::MAX).await?;
    let of_today = log.event_sums(today..=today).await?;
    let metrics = log.events(query).await?;
    let is_full = metrics.len() == limit;
    let next_cursor = metrics.last().filter(|_| is_full).map(|last| last.id.to_string());
    let telemetry = activity.bus.telemetry();
    response::json(&Told {
        enabled: telemetry.is_kept(),
        summary: TelemetrySummary::of(&all, &of_today),
        days,
        metrics,
        next_cursor,
        dropped: telemetry.dropped(),
    })
}

/// Summarises the last days, ending with today.
async fn by_day(log: &dyn TelemetryLog, today: Date, days: usize) -> Result<Vec<DaySummary>, Problem> {
    let mut told = Vec::with_capacity(days);
    for before in (0..i64::try_from(days).unwrap_or(0)).rev() {
        let day = today.saturating_sub(Span::new().days(before));
        told.push(DaySummary::of(day, &log.event_sums(day..=day).await?));
    }
    Ok(told)
}

fn kind(request: &Request) -> Result<Option<TelemetryKind>, Problem> {
    let Some(word) = request.query("type") else { return Ok(None) };
    let known = TelemetryKind::from_word(&word);
    known.map(Some).ok_or_else(|| {
        let words = TelemetryKind::ALL.map(TelemetryKind::as_str).join(", ");
        Problem::invalid("type", format!("must be one of {words}"))
    })
}

/// Parses the start time of the query.
fn since(request: &Request) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = request.query("since") else { return Ok(None) };
    let moment = text.parse::<Timestamp>();
    moment.map(Some).map_err(|_| Problem::invalid("since", "must be a time such as 2026-11-22T08:00:00Z"))
}

fn cursor(request: &Request) -> Result<Option<i64>, Problem> {
    let Some(text) = request.query("cursor") else { return Ok(None) };
    let id = text.parse::<i64>().ok().filter(|id| *id > 0);
    id.map(Some).ok_or_else(|| Problem::invalid("cursor", "must be the `next_cursor` of the page before"))
}
