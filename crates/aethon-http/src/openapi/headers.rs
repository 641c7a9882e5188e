//! The headers of requests and answers, as the OpenAPI document describes them.
//!
//! They are read where they matter (`precondition`, `signature`), so these types are never made.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The header of a request that must make something new.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct IfNoneMatch {
    /// `*` makes something new: nothing of that name is replaced.
    #[schemars(rename = "If-None-Match", extend("examples" = ["*"]))]
    if_none_match: Option<String>,
}

/// The headers of a webhook.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Signed {
    /// The HMAC-SHA256 of the body under `webhook.secret` in hex; with a timestamp, of `v2`, the time, the
    /// `Idempotency-Key` and the body. Required if there is a secret.
    #[schemars(rename = "X-Aethon-Signature", regex(pattern = "^(sha256=|v2=)?[0-9A-Fa-f]{64}$"))]
    signature: Option<String>,
    /// The time of the request in seconds since 1970. With it a request works once, within five minutes.
    #[schemars(rename = "X-Aethon-Timestamp", regex(pattern = "^[0-9]+$"))]
    timestamp: Option<String>,
    /// Names the request for a day: one that is repeated under the same key gets the same answer and runs no second turn.
    #[schemars(rename = "Idempotency-Key", length(min = 1, max = 255))]
    idempotency_key: Option<String>,
}

/// Returns the headers that say more than a status.
pub(super) fn of_answer(status: u16) -> Map<String, Value> {
    let header = |name: &str, about: &str, kind: &str| {
        (name.to_owned(), json!({ "description": about, "schema": { "type": kind } }))
    };
    let headers = match status {
        401 => vec![header("WWW-Authenticate", "`Bearer`.", "string")],
        429 | 503 => vec![header("Retry-After", "After how many seconds to try again.", "integer")],
        _ => Vec::new(),
    };
    headers.into_iter().collect()
}

/// Describes `If-Match`.
pub(super) fn if_match() -> Value {
    json!({
        "name": "If-Match", "in": "header", "required": false, "schema": { "type": "string" },
        "description": "The ETags that the change is meant for, or `*`. Without it the last writer wins.",
    })
}
