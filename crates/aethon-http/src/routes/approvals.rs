//! `/api/approvals`: pending approvals, decisions on them, and grants for the rest of a conversation.

use aethon_core::approval::{Answer, AnswerError, ApprovalRequest, Decision, Grant, Scope};
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;

use crate::deps::Chat;
use crate::error::Problem;
use crate::fields::Fields;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Pending {
    approvals: Vec<ApprovalRequest>,
    /// Approvals granted for the rest of a conversation.
    granted: Vec<Grant>,
}

#[derive(Serialize)]
struct Decided<'a> {
    status: &'static str,
    id: &'a str,
    decision: Decision,
    scope: Scope,
}

/// `GET /api/approvals`: oldest first.
pub(super) fn list(chat: Chat, _request: &Request) -> HandlerResult {
    let (approvals, granted) = (chat.approvals.pending(), chat.approvals.grants().all());
    response::json(&Pending { approvals, granted })
}

/// `POST /api/approvals/{id} {decision, scope?, input?}`. Only the first decision counts: a settled approval is 404.
/// Arguments that break a rule are 422, and the approval stays pending.
pub(super) async fn decide(chat: Chat, mut request: Request) -> HandlerResult {
    let body = request.read().await?;
    let answer = answer(&mut Fields::parse(&body)?)?.by("the dashboard or the API");
    let id = request.params.get::<String>("id").unwrap_or_default();
    let (decision, scope) = (answer.decision, answer.scope);
    match chat.approvals.answer(&id, answer).await {
        Ok(()) => response::json(&Decided { status: "ok", id: &id, decision, scope }),
        Err(error @ AnswerError::Unknown) => Err(Problem::not_found(error.to_string())),
        Err(AnswerError::Refused(reason)) => Err(Problem::invalid("input", reason)),
    }
}

/// `DELETE /api/approvals/granted/{id}`: revokes a grant, so that approval is required again.
pub(super) async fn take_back(chat: Chat, request: Request) -> HandlerResult {
    let id = request.params.get::<String>("id").unwrap_or_default();
    if !chat.approvals.grants().take_back(&id) {
        return Err(Problem::not_found("nothing of this id is allowed; it may have been taken back already"));
    }
    Ok(response::with_body(StatusCode::NO_CONTENT, Vec::new()))
}

fn answer(fields: &mut Fields) -> Result<Answer, Problem> {
    let decision = match fields.required_text("decision")?.as_str() {
        "approve" => Decision::Approve,
        "deny" => Decision::Deny,
        _ => return Err(Problem::invalid("decision", "must be approve or deny")),
    };
    let scope = match fields.text("scope")?.as_deref() {
        None | Some("once") => Scope::Once,
        Some("session") => Scope::Session,
        Some(_) => return Err(Problem::invalid("scope", "must be once or session")),
    };
    let input = fields.value("input");
    if decision == Decision::Deny && (input.is_some() || scope == Scope::Session) {
        return Err(Problem::invalid("decision", "a denial takes neither scope nor input"));
    }
    if input.as_ref().is_some_and(|input| !matches!(input, Value::Object(_))) {
        return Err(Problem::invalid("input", "must be a JSON object with all arguments"));
    }
    Ok(Answer::new(decision).scoped(scope).with_input(input))
}
