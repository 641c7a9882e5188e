//! `/api/logs`: the newest log records, which were redacted before they were stored.

use aethon_core::log::{Level, LogQuery, LogRecord};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::deps::Activity;
use crate::paging::{self, Cursor, RowKey};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// Log records, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Logs")]
pub(super) struct Records {
    records: Vec<Record>,
    /// Where the next page begins, if there is one.
    next_cursor: Option<String>,
}

/// A record as `/ws/dashboard` sends it, with the timestamp named `time`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LogRecord")]
pub(super) struct Record {
    #[serde(serialize_with = "aethon_core::time::serialize")]
    time: Timestamp,
    #[serde(flatten)]
    record: Arc<LogRecord>,
}

/// Which records are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<200, 1000>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// The lowest level, `info` unless it says otherwise.
    level: Level,
    /// Only those that contain all of these words.
    q: Option<String>,
    /// Only those of this part of the program.
    target: Option<String>,
}

/// `GET /api/logs?level&limit&cursor&q&target`: newest first, filtered by minimum level (`info` by default), words, and part
/// of the program.
pub(super) fn newest(activity: Activity, request: &Request) -> HandlerResult {
    let Listing { limit, cursor, level, q: words, target } = request.queried()?;
    let cursor = Cursor::parse(cursor.as_deref())?;
    let query = LogQuery { level, target, words };
    let found = activity.logs.search(&query, paging::needed(cursor.as_ref(), limit.get()));
    let page = paging::page(found, |record| RowKey::of_content(record.ts, &**record), cursor, limit.get());
    let records = page.rows.into_iter().map(|record| Record { time: record.ts, record }).collect();
    response::json(&Records { records, next_cursor: page.next_cursor })
}
