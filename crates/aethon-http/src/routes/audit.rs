//! `/api/audit`: allowed and refused actions, newest first.

use aethon_core::audit::{AuditAction, AuditEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Activity;
use crate::paging::{self, Cursor, RowKey};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The audit log, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct Audit {
    audit: Vec<AuditEntry>,
    /// Where the next page begins, if there is one.
    next_cursor: Option<String>,
}

/// Which entries are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<100, 1000>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only those of this kind.
    action: Option<AuditAction>,
}

/// `GET /api/audit?limit&cursor&action`: `action` is one of `approval` (people's past decisions), `refusal`, `grant`, ...
pub(super) async fn newest(activity: Activity, request: Request) -> HandlerResult {
    let Listing { limit, cursor, action } = request.queried()?;
    let cursor = Cursor::parse(cursor.as_deref())?;
    let needed = paging::needed(cursor.as_ref(), limit.get());
    let rows = match action {
        None => activity.audit.newest(needed).await?,
        Some(action) => activity.audit.newest_of(action, needed).await?,
    };
    let page = paging::page(rows, |row| RowKey::of_content(row.at, row), cursor, limit.get());
    response::json(&Audit { audit: page.rows, next_cursor: page.next_cursor })
}
