//! `/api/logs`: the newest log records, which were redacted before they were stored.

use aethon_core::log::{Level, LogQuery, LogRecord};
use jiff::Timestamp;
use serde::Serialize;
use std::sync::Arc;

use crate::deps::Activity;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Records {
    records: Vec<Record>,
}

/// A record as `/ws/dashboard` sends it, with the timestamp named `time`.
#[derive(Serialize)]
struct Record {
    #[serde(serialize_with = "aethon_core::time::serialize")]
    time: Timestamp,
    #[serde(flatten)]
    record: Arc<LogRecord>,
}

/// `GET /api/logs?level&limit&q&target`: newest first, filtered by minimum level (`info` by default), words, and part
/// of the program.
pub(super) fn newest(activity: Activity, request: &Request) -> HandlerResult {
    let limit = request.number("limit", 200, 1..=1000)?;
    let level = match request.query("level") {
        None => Level::Info,
        Some(name) => Level::parse(&name)
            .ok_or_else(|| Problem::invalid("level", "must be trace, debug, info, warn or error"))?,
    };
    let query = LogQuery { level, target: request.query("target"), words: request.query("q") };
    let found = activity.logs.search(&query, limit).into_iter();
    let records = found.map(|record| Record { time: record.ts, record }).collect();
    response::json(&Records { records })
}
