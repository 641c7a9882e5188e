//! `/api/logs`: the newest log records, redacted before they were kept.

use aethon_core::log::{Level, LogQuery, LogRecord};
use serde::Serialize;
use std::sync::Arc;

use crate::deps::Activity;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Records {
    records: Vec<Arc<LogRecord>>,
}

/// `GET /api/logs?level&limit&q&target`: newest first, of at least that level (`info` by default), with these words, of this
/// part of the program.
pub(super) fn newest(activity: Activity, request: &Request) -> HandlerResult {
    let limit = request.number("limit", 200, 1..=1000)?;
    let level = match request.query("level") {
        None => Level::Info,
        Some(name) => Level::parse(&name)
            .ok_or_else(|| Problem::invalid("level", "must be trace, debug, info, warn or error"))?,
    };
    let query = LogQuery { level, target: request.query("target"), words: request.query("q") };
    response::json(&Records { records: activity.logs.search(&query, limit) })
}
