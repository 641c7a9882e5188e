//! `/api/audit`: allowed and refused actions, newest first.

use aethon_core::audit::{AuditAction, AuditEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Activity;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The audit log, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Audit {
    audit: Vec<AuditEntry>,
}

/// Which entries are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<100, 1000>,
    /// Only those of this kind.
    action: Option<AuditAction>,
}

/// `GET /api/audit?limit&action`: `action` is one of `approval` (people's past decisions), `refusal`, `grant`, ...
pub(super) async fn newest(activity: Activity, request: Request) -> HandlerResult {
    let Listing { limit, action } = request.queried()?;
    let audit = match action {
        None => activity.audit.newest(limit.get()).await?,
        Some(action) => activity.audit.newest_of(action, limit.get()).await?,
    };
    response::json(&Audit { audit })
}
