//! `/api/logs`: the newest log records, which were redacted before they were stored.

use aethon_core::log::{Level, LogQuery, LogRecord};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::deps::Activity;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// Log records, newest first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Logs")]
pub(super) struct Records {
    records: Vec<Record>,
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
    /// The lowest level, `info` unless it says otherwise.
    level: Level,
    /// Only those that contain all of these words.
    q: Option<String>,
    /// Only those of this part of the program.
    target: Option<String>,
}

/// `GET /api/logs?level&limit&q&target`: newest first, filtered by minimum level (`info` by default), words, and part
/// of the program.
pub(super) fn newest(activity: Activity, request: &Request) -> HandlerResult {
    let Listing { limit, level, q: words, target } = request.queried()?;
    let query = LogQuery { level, target, words };
    let found = activity.logs.search(&query, limit.get()).into_iter();
    let records = found.map(|record| Record { time: record.ts, record }).collect();
    response::json(&Records { records })
}
