//! `/api/audit`: what was allowed and what was refused, newest first.

use aethon_core::audit::AuditEntry;
use serde::Serialize;

use crate::deps::Activity;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Audit {
    audit: Vec<AuditEntry>,
}

/// `GET /api/audit?limit`.
pub(super) async fn newest(activity: Activity, request: Request) -> HandlerResult {
    let limit = request.number("limit", 100, 1..=1000)?;
    response::json(&Audit { audit: activity.audit.newest(limit).await? })
}
