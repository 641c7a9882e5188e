//! `/api/approvals`: the open questions, and answers to them.

use aethon_core::approval::{ApprovalRequest, Decision};
use serde::Serialize;

use crate::deps::Chat;
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Pending {
    approvals: Vec<ApprovalRequest>,
}

#[derive(Serialize)]
struct Decided<'a> {
    status: &'static str,
    id: &'a str,
    decision: Decision,
}

/// `GET /api/approvals`: oldest first.
pub(super) fn list(chat: Chat, _request: &Request) -> HandlerResult {
    response::json(&Pending { approvals: chat.approvals.pending() })
}

/// `POST /api/approvals/{id} {decision}`. An answer counts once: a question that is settled is not found.
pub(super) async fn decide(chat: Chat, mut request: Request) -> HandlerResult {
    let body = request.read().await?;
    let decision = match Fields::parse(&body)?.required_text("decision")?.as_str() {
        "approve" => Decision::Approve,
        "deny" => Decision::Deny,
        _ => return Err(Problem::invalid("decision", "must be approve or deny")),
    };
    let id = request.params.get::<String>("id").unwrap_or_default();
    if !chat.approvals.decide(&id, decision) {
        return Err(Problem::not_found("there is no such open approval; it may be settled already"));
    }
    response::json(&Decided { status: "ok", id: &id, decision })
}
