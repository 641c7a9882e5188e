//! `/api/audit`: allowed and refused actions, newest first.

use aethon_core::audit::{AuditAction, AuditEntry};
use serde::Serialize;

use crate::deps::Activity;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Audit {
    audit: Vec<AuditEntry>,
}

/// `GET /api/audit?limit&action`: `action` is one of `approval` (people's past decisions), `refusal`, `grant`, ...
pub(super) async fn newest(activity: Activity, request: Request) -> HandlerResult {
    let limit = request.number("limit", 100, 1..=1000)?;
    let Some(word) = request.query("action") else {
        return response::json(&Audit { audit: activity.audit.newest(limit).await? });
    };
    let action = AuditAction::from_word(&word).ok_or_else(|| {
        let words = AuditAction::ALL.map(AuditAction::as_str).join(", ");
        Problem::invalid("action", format!("must be one of {words}"))
    })?;
    response::json(&Audit { audit: activity.audit.newest_of(action, limit).await? })
}
