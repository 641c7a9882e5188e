//! `/api/approvals`: pending approvals, decisions on them, and grants for the rest of a conversation.

use aethon_core::approval::{Answer, AnswerError, ApprovalRequest, Decision, Grant, Scope};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::deps::Chat;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// What waits for a decision, and what is allowed for the rest of a conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Approvals")]
pub(super) struct Pending {
    approvals: Vec<ApprovalRequest>,
    /// Approvals granted for the rest of a conversation.
    granted: Vec<Grant>,
}

/// The decision that was taken.
#[derive(Serialize, JsonSchema)]
pub(super) struct Decided<'a> {
    status: &'static str,
    id: &'a str,
    decision: Decision,
    scope: Scope,
}

/// A decision.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub(super) struct Wanted {
    decision: Decision,
    /// How far an approval reaches; `once` unless it says otherwise.
    scope: Option<Scope>,
    /// Other arguments for the call, all of them.
    input: Option<Map<String, Value>>,
}

/// `GET /api/approvals`: oldest first.
pub(super) fn list(chat: Chat, _request: &Request) -> HandlerResult {
    let (approvals, granted) = (chat.approvals.pending(), chat.approvals.grants().all());
    response::json(&Pending { approvals, granted })
}

/// `POST /api/approvals/{id} {decision, scope?, input?}`. Only the first decision counts: a settled approval is 404.
/// Arguments that break a rule are 422, and the approval stays pending.
pub(super) async fn decide(chat: Chat, mut request: Request) -> HandlerResult {
    let answer = answer(request.sent().await?)?.by("the dashboard or the API");
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

fn answer(Wanted { decision, scope, input }: Wanted) -> Result<Answer, Problem> {
    let scope = scope.unwrap_or_default();
    if decision == Decision::Deny && (input.is_some() || scope == Scope::Session) {
        return Err(Problem::invalid("decision", "a denial takes neither scope nor input"));
    }
    Ok(Answer::new(decision).scoped(scope).with_input(input.map(Value::Object)))
}
