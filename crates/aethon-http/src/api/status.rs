//! `/health` for probes, `/api/status` for people.

use aethon_core::model::Readiness;
use serde::Serialize;

use crate::app::App;
use crate::auth::Verdict;
use crate::pages;
use crate::request::Request;
use crate::response::{self, Answer};

/// `GET /health`: always open, always the same.
pub(crate) fn health(_app: &App, _request: &Request) -> Answer {
    Ok(response::json_bytes(r#"{"status":"ok"}"#))
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    version: &'a str,
    uptime_seconds: u64,
    provider: &'a str,
    model: &'a str,
    model_ready: bool,
    model_hint: Option<String>,
    channels: Vec<&'a str>,
    token_required: bool,
}

/// `GET /api/status`. To one of our own pages that shows the token in the Authorization header it also gives the
/// cookie: the chat page signs in here, since the dashboard may be switched off.
pub(crate) fn status(app: &App, request: &Request) -> Answer {
    let capabilities = app.deps.provider.capabilities();
    let hint = match app.deps.provider.readiness() {
        Readiness::Ready => None,
        Readiness::NotConfigured(hint) => Some(hint),
    };
    let mut answer = response::json(&Status {
        status: "running",
        version: app.options.version,
        uptime_seconds: app.started.elapsed().as_secs(),
        provider: &capabilities.provider,
        model: &capabilities.model,
        model_ready: hint.is_none(),
        model_hint: hint,
        channels: app.deps.channels.names().collect(),
        token_required: request.verdict != Verdict::Open,
    })?;
    if request.verdict.is_bearer() && request.header_is("sec-fetch-site", "same-origin") {
        pages::sign_in(app, request, &mut answer);
    }
    Ok(answer)
}
