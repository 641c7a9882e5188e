//! `/health` for probes, `/api/status` for people.

use std::sync::Arc;

use aethon_core::model::Readiness;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::About;
use crate::audit_notes::AuditNotes;
use crate::auth::{TokenAuth, TokenCheck};
use crate::deps::{Chat, Setup};
use crate::pages;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// It lives.
#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// `GET /health`: always open, always the same response.
pub(super) fn health(_: (), _request: &Request) -> HandlerResult {
    response::json(&Health { status: "ok" })
}

/// The state of the service.
#[derive(Serialize, JsonSchema)]
pub(super) struct Status<'a> {
    status: &'static str,
    version: &'a str,
    uptime_seconds: u64,
    provider: &'a str,
    model: &'a str,
    model_ready: bool,
    model_hint: Option<String>,
    context: String,
    channels: Vec<&'a str>,
    token_required: bool,
    transcription: bool,
    demo: bool,
    reach: &'a [String],
}

/// `GET /api/status`. If one of our own pages shows the token in the Authorization header, the response also sets the
/// cookie: the chat page signs in here, since the dashboard may be switched off.
pub(super) async fn status(
    ((chat, setup), about, auth, notes): ((Chat, Setup), About, Arc<TokenAuth>, AuditNotes),
    request: Request,
) -> HandlerResult {
    let capabilities = setup.provider.capabilities();
    let hint = match setup.provider.readiness() {
        Readiness::Ready => None,
        Readiness::NotConfigured(hint) => Some(hint),
    };
    let mut answer = response::json(&Status {
        status: "running",
        version: about.version,
        uptime_seconds: about.started.elapsed().as_secs(),
        provider: &capabilities.provider,
        model: &capabilities.model,
        model_ready: hint.is_none(),
        model_hint: hint,
        context: capabilities.window_in_words(),
        channels: setup.channels.names().collect(),
        transcription: chat.transcriber.is_some_and(|service| service.readiness() == Readiness::Ready),
        token_required: request.token != TokenCheck::Open,
        demo: about.is_demo,
        reach: &setup.reach,
    })?;
    if request.token.is_bearer() && request.header_is("sec-fetch-site", "same-origin") {
        pages::sign_in(&auth, &notes, &request, &mut answer).await;
    }
    Ok(answer)
}
