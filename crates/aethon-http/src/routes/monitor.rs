//! `/api/monitor`: what the live monitor shows when it starts, in one answer.

use aethon_core::approval::ApprovalRequest;
use aethon_core::ids::SessionId;
use aethon_core::telemetry::{StoredEvent, TelemetryQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::{Activity, Chat};
use crate::error::Problem;
use crate::json::{Watched, WatchedWanted, watched};
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// How many measurements there are.
const EVENTS: usize = 500;

/// What the live monitor shows when it starts.
#[derive(Serialize, JsonSchema)]
pub(super) struct Monitor {
    /// The most recently used conversations.
    conversations: Vec<Watched>,
    /// Open approval questions.
    approvals: Vec<ApprovalRequest>,
    /// The newest measurements.
    metrics: Vec<StoredEvent>,
}

/// How much is shown.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Wanted {
    conversations: Limit<24, 100>,
    /// The most messages of each conversation.
    messages: Limit<60, 200>,
    /// A conversation that is to be among them, whenever it was used.
    session: Option<String>,
}

/// `GET /api/monitor?conversations&messages&session`: the newest messages of the most recently used conversations, open
/// questions for approval, and the newest measurements.
pub(super) async fn show((chat, activity): (Chat, Activity), request: Request) -> HandlerResult {
    let Wanted { conversations, messages, session } = request.queried()?;
    let session = session.map(|id| SessionId::parse(&id)).transpose();
    let session = session.map_err(|_| Problem::invalid("session", "must be the id of a conversation"))?;
    let wanted = WatchedWanted { conversations: conversations.get(), messages: messages.get(), session };
    let conversations = watched(&chat, &wanted).await?;
    let query = TelemetryQuery { limit: EVENTS, ..TelemetryQuery::default() };
    let metrics = activity.telemetry.events(query).await?;
    response::json(&Monitor { conversations, approvals: chat.approvals.pending(), metrics })
}
