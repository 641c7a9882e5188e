//! `/api/approvals`: the open questions, and answers to them.

use std::sync::Arc;

use aethon_core::approval::{ApprovalRequest, Decision};
use serde::Serialize;

use crate::app::App;
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, Answer};

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
pub(crate) fn list(app: &App, _request: &Request) -> Answer {
    response::json(&Pending { approvals: app.deps.desk.pending() })
}

/// `POST /api/approvals/{id} {decision}`. An answer counts once: a question that is settled is not found.
pub(crate) async fn decide(app: Arc<App>, mut request: Request) -> Answer {
    let body = request.read(&app.options.limits).await?;
    let decision = match Fields::parse(&body)?.required_text("decision")?.as_str() {
        "approve" => Decision::Approve,
        "deny" => Decision::Deny,
        _ => return Err(Problem::invalid("decision", "must be approve or deny")),
    };
    let id = request.params.get(0).unwrap_or_default();
    if !app.deps.desk.decide(&id, decision) {
        return Err(Problem::not_found("there is no such open approval; it may be settled already"));
    }
    response::json(&Decided { status: "ok", id: &id, decision })
}
