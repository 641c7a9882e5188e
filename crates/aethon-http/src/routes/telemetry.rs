//! `/api/telemetry`: telemetry events, newest first, and their summary.

use aethon_core::telemetry::{StoredEvent, TelemetryKind, TelemetryLog, TelemetryQuery};
use aethon_core::usage::day_of;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::summary::{DaySummary, TelemetrySummary};
use crate::deps::{Activity, Runtime};
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

mod summary;

/// How many days are summarised one by one at most.
const MAX_DAYS: usize = 31;

/// Measurements, newest first, with a summary.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Telemetry")]
pub(super) struct Told {
    enabled: bool,
    summary: TelemetrySummary,
    /// The requested number of days, oldest first.
    days: Vec<DaySummary>,
    metrics: Vec<StoredEvent>,
    next_cursor: Option<String>,
    /// Events that were lost because the storage failed for too long.
    dropped: u64,
}

/// Which measurements are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<100, 1000>,
    /// Only those of this type.
    r#type: Option<TelemetryKind>,
    /// Only those from this time on.
    #[schemars(with = "Option<Timestamp>")]
    since: Option<String>,
    /// The `next_cursor` of the page before.
    #[schemars(regex(pattern = "^[1-9][0-9]{0,17}$"))]
    cursor: Option<String>,
    /// How many days are summarised one by one.
    #[schemars(range(max = MAX_DAYS))]
    days: usize,
}

/// `GET /api/telemetry?limit&type&since&cursor&days`. The summary covers all stored days, regardless of the query.
pub(super) async fn newest((activity, runtime): (Activity, Runtime), request: Request) -> HandlerResult {
    let Listing { limit, r#type: kind, since: from, cursor: page, days } = request.queried()?;
    let limit = limit.get();
    let query = TelemetryQuery { limit, kind, since: since(from)?, before: cursor(page)? };
    let log = &activity.telemetry;
    let today = day_of(runtime.clock.now());
    let days = by_day(&**log, today, days).await?;
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

/// Parses the start time of the query.
fn since(given: Option<String>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = given else { return Ok(None) };
    let moment = text.parse::<Timestamp>();
    moment.map(Some).map_err(|_| Problem::invalid("since", "must be a time such as 2026-11-22T08:00:00Z"))
}

fn cursor(given: Option<String>) -> Result<Option<i64>, Problem> {
    let Some(text) = given else { return Ok(None) };
    let id = text.parse::<i64>().ok().filter(|id| *id > 0);
    id.map(Some).ok_or_else(|| Problem::invalid("cursor", "must be the `next_cursor` of the page before"))
}
