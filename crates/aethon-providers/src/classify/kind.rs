//! Classifies a failure by the HTTP status and the service's words.
//!
//! Words take precedence, because services disagree on statuses: an empty account is 429 at one and 400 at another.

use aethon_core::model::ModelErrorKind;

use super::report::Report;

use ModelErrorKind::{
    Auth, ContextLength, InvalidRequest, Malformed, NotFound, Overloaded, Quota, RateLimit, Refused, Timeout,
};

/// Decisive phrases, in the order in which they are tried.
const WORDS: &[(ModelErrorKind, &[&str])] = &[
    (
        Quota,
        &[
            "insufficient_quota",
            "exceeded your current quota",
            "credit balance is too low",
            "billing_hard_limit",
            "billing_error",
            "billing_not_active",
            "insufficient balance",
            "insufficient credits",
            "insufficient_credits",
            "out of credits",
            "budget has been exceeded",
            "budget_exceeded",
            "payment required",
            "servicequotaexceeded",
            "too many tokens per day",
        ],
    ),
    (
        ContextLength,
        &[
            "context_length_exceeded",
            "context_window_exceeded",
            "contextwindowexceeded",
            "exceed_context_size",
            "maximum context length",
            "maximum allowed length",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "input length exceeds",
            "exceed context limit",
            "exceeds the context",
            "exceeds the available context",
            "exceed the available context",
            "exceed context window",
            // LM Studio, with its own word order.
            "when context the overflows",
            "with context length of only",
            "exceeds the maximum number of tokens",
            "requested tokens",
            "too large for model with",
            "reduce the length of the messages",
            "request_too_large",
            "too many input tokens",
        ],
    ),
    (
        Refused,
        &[
            "content_policy_violation",
            "contentpolicyviolation",
            "content_filter",
            "content management policy",
            "responsibleaipolicyviolation",
            "flagged as potentially violating",
        ],
    ),
    (
        Overloaded,
        &[
            "overloaded",
            "server_error",
            "service_unavailable",
            "engine is currently busy",
            "internalserver",
            "serviceunavailable",
            "modelnotready",
            "modelerrorexception",
            "modelstreamerror",
        ],
    ),
    (
        RateLimit,
        &["rate_limit", "rate limit", "ratelimit", "too many requests", "throttl", "resource_exhausted"],
    ),
    (
        Auth,
        &[
            "invalid_api_key",
            "authentication_error",
            "permission_error",
            "api key not valid",
            "invalid api key",
            "incorrect api key",
            // A LiteLLM proxy without a database that received a key other than its master key.
            "no_db_connection",
            "unauthorized",
            "accessdenied",
            "unrecognizedclient",
            "expiredtoken",
            "invalidsignature",
        ],
    ),
    (
        NotFound,
        &[
            "model_not_found",
            "not_found_error",
            "does not exist",
            "invalid_model",
            "invalid model",
            "resourcenotfound",
            "model identifier is invalid",
        ],
    ),
    (InvalidRequest, &["validationexception"]),
    (Timeout, &["modeltimeoutexception"]),
];

/// Returns the class of a response with this status.
pub(super) fn of_status(status: u16, report: &Report) -> ModelErrorKind {
    let by_words = || of_words(report).filter(|kind| fits(*kind, status));
    match status {
        401 => Auth,
        402 => Quota,
        403 => by_words().unwrap_or(Auth),
        404 | 405 | 410 => by_words().unwrap_or(NotFound),
        408 => Timeout,
        413 => ContextLength,
        429 => by_words().unwrap_or(RateLimit),
        300..=399 => NotFound,
        400..=499 => by_words().unwrap_or(InvalidRequest),
        500..=599 => by_words().unwrap_or(Overloaded),
        _ => Malformed,
    }
}

/// Returns the class of a failure that is reported in the middle of a response.
pub(super) fn of_report(report: &Report) -> ModelErrorKind {
    let status = report.codes.split(' ').find_map(|code| code.parse().ok());
    match status {
        Some(status @ 400..=599) => of_status(status, report),
        _ => of_words(report).unwrap_or(Overloaded),
    }
}

fn of_words(report: &Report) -> Option<ModelErrorKind> {
    let words = report.words();
    // Google says "exceeded your current quota" for limits per minute and per day alike.
    if report.codes.contains("resource_exhausted") {
        if report.codes.contains("perday") {
            return Some(Quota);
        }
        if report.wait.is_some() {
            return Some(RateLimit);
        }
    }
    let found = WORDS.iter().find(|(_, signs)| signs.iter().any(|sign| words.contains(sign)));
    found.map(|(kind, _)| *kind)
}

/// Returns whether words may overrule a status. A retryable status stays so unless the account is empty or the
/// request too large, and a permanent one does not become retryable because of a stray word.
fn fits(kind: ModelErrorKind, status: u16) -> bool {
    match status {
        429 => matches!(kind, Quota | ContextLength | Overloaded),
        500..=599 => matches!(kind, Quota | ContextLength | RateLimit | Overloaded | Auth | NotFound),
        404 | 405 | 410 => matches!(kind, NotFound | Auth | Quota),
        _ => true,
    }
}
