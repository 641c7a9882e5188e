//! `/api/logs`: the newest log records, redacted before they were kept.

use aethon_core::log::{Level, LogRecord};
use serde::Serialize;
use std::sync::Arc;

use crate::app::App;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, Answer};

#[derive(Serialize)]
struct Records {
    records: Vec<Arc<LogRecord>>,
}

/// `GET /api/logs?level&limit`: newest first, of at least that level (`info` by default).
pub(crate) fn newest(app: &App, request: &Request) -> Answer {
    let limit = request.number("limit", 200, 1..=1000)?;
    let level = match request.query("level") {
        None => Level::Info,
        Some(name) => Level::parse(&name)
            .ok_or_else(|| Problem::invalid("level", "must be trace, debug, info, warn or error"))?,
    };
    response::json(&Records { records: app.deps.logs.newest(level, limit) })
}
