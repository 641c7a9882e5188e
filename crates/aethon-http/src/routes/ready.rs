//! `GET /api/ready`: whether the program can do its work, for load balancers and supervisors. `/health` only says
//! that it runs.

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Runtime;
use crate::error::{Problem, STORAGE_RETRY_SECONDS, STORAGE_UNAVAILABLE};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// It accepts messages.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ready {
    /// Always true; otherwise the answer is 503.
    ready: bool,
    /// Always `ready`.
    status: &'static str,
}

/// Returns 200 while new messages are accepted, 503 with the reason while they are refused.
pub(super) fn ready(runtime: Runtime, _request: &Request) -> HandlerResult {
    let unready = |code, detail| Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
    if let Some(fault) = runtime.health.fault() {
        return Err(unready(STORAGE_UNAVAILABLE, fault.message.clone()).retry_after(STORAGE_RETRY_SECONDS));
    }
    if runtime.shutdown.is_requested() {
        let detail = "the assistant is shutting down; try again in a moment".to_owned();
        return Err(unready("shutting_down", detail).retry_after(1));
    }
    response::json(&Ready { ready: true, status: "ready" })
}
