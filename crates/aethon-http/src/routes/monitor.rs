//! `/api/monitor`: what the live monitor shows when it starts, in one answer.

use aethon_core::approval::ApprovalRequest;
use aethon_core::ids::SessionId;
use aethon_core::telemetry::{StoredEvent, TelemetryQuery};
use serde::Serialize;

use crate::deps::{Activity, Chat};
use crate::error::Problem;
use crate::json::{Watched, WatchedWanted, watched};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// How many measurements there are.
const EVENTS: usize = 500;

#[derive(Serialize)]
struct Monitor {
    conversations: Vec<Watched>,
    approvals: Vec<ApprovalRequest>,
    metrics: Vec<StoredEvent>,
}

/// `GET /api/monitor?conversations&messages&session`: the newest messages of the most recently used conversations, open
/// questions for approval, and the newest measurements.
pub(super) async fn show((chat, activity): (Chat, Activity), request: Request) -> HandlerResult {
    let session = match request.query("session") {
        None => None,
        Some(id) => Some(
            SessionId::parse(&id)
                .map_err(|_| Problem::invalid("session", "must be the id of a conversation"))?,
        ),
    };
    let wanted = WatchedWanted {
        conversations: request.number("conversations", 24, 1..=100)?,
        messages: request.number("messages", 60, 1..=200)?,
        session,
    };
    let conversations = watched(&chat, &wanted).await?;
    let query = TelemetryQuery { limit: EVENTS, ..TelemetryQuery::default() };
    let metrics = activity.telemetry.events(query).await?;
    response::json(&Monitor { conversations, approvals: chat.approvals.pending(), metrics })
}
