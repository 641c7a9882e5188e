//! Responses, and the headers that all of them carry.
//!
//! [`finish`] is the only place that adds the common headers. A handler sets only its own, such as `Cache-Control`
//! where a response may be cached.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use serde::Serialize;

use crate::body::{Body, Response};
use crate::error::Problem;

/// The result of a handler.
pub(crate) type HandlerResult = Result<Response, Problem>;

/// The header that carries the request id.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; manifest-src 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'self'",
);
const DIAGRAM_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; sandbox allow-scripts; \
     frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
);
/// Code in the page runs, `eval` included, which gives it nothing that its scripts lack. Nothing is loaded from anywhere. What it
/// embeds inherits this, and the frames in it lead nowhere.
const ARTEFACT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
     font-src data: blob:; sandbox allow-scripts; frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
);
/// What the policy does not cover, WebRTC and connections opened in advance, in browsers that know this header.
const CONNECTION_ALLOWLIST: HeaderName = HeaderName::from_static("connection-allowlist");
const NO_CONNECTIONS: HeaderValue = HeaderValue::from_static("()");
const CROSS_ORIGIN: HeaderValue = HeaderValue::from_static("cross-origin");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Room for the common headers and a handler's own, so that the map is allocated once.
const HEADERS: usize = 12;

/// Creates a response with this body and no headers.
pub(crate) fn with_body(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    *answer.headers_mut() = HeaderMap::with_capacity(HEADERS);
    answer
}

/// Returns 200 with a body that is already JSON.
pub(crate) fn json_bytes(body: impl Into<Body>) -> Response {
    let mut answer = with_body(StatusCode::OK, body);
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}

/// Returns 200 with this value as JSON.
pub(crate) fn json(value: &impl Serialize) -> HandlerResult {
    match serde_json::to_vec(value) {
        Ok(body) => Ok(json_bytes(body)),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            Err(Problem::internal())
        }
    }
}

/// Returns 201 with the created value.
pub(crate) fn created(value: &impl Serialize) -> HandlerResult {
    let mut answer = json(value)?;
    *answer.status_mut() = StatusCode::CREATED;
    Ok(answer)
}

/// Returns 204: success without content.
pub(crate) fn no_content() -> Response {
    with_body(StatusCode::NO_CONTENT, Vec::new())
}

/// Lets the sandboxed frame of diagrams load a file: the frame has no origin, so its files are foreign to it.
pub(crate) fn open_to_frame(answer: &mut Response) {
    answer.headers_mut().insert(RESOURCE_POLICY, CROSS_ORIGIN);
}

/// Seals the page in that frame: it may load and run nothing but its own files, wherever it is opened.
pub(crate) fn seal_diagram(answer: &mut Response) {
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, DIAGRAM_POLICY);
}

/// Seals the page around an artefact: it runs what it is given and loads nothing, wherever it is opened.
pub(crate) fn seal_artefact(answer: &mut Response) {
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, ARTEFACT_POLICY);
    answer.headers_mut().insert(CONNECTION_ALLOWLIST, NO_CONNECTIONS);
}

/// Adds the headers that every response carries. Unless a handler allowed caching, it is forbidden.
pub(crate) fn finish<B>(answer: &mut http::Response<B>, id: HeaderValue) {
    let headers = answer.headers_mut();
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    headers.insert(OPENER_POLICY, SAME_ORIGIN);
    headers.entry(RESOURCE_POLICY).or_insert(SAME_ORIGIN);
    headers.insert(X_REQUEST_ID, id);
    headers.entry(CACHE_CONTROL).or_insert(NO_STORE);
}

/// Generates request ids: a random word for the process and a counter, so an id costs no more than its sixteen
/// digits.
pub(crate) struct RequestIds {
    process: u32,
    next: AtomicU64,
}

impl RequestIds {
    /// Starts a new series.
    pub(crate) fn new() -> Self {
        let mut word = [0; 4];
        // Without randomness, ids are still unique within the process.
        let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut word);
        Self { process: u32::from_le_bytes(word), next: AtomicU64::new(1) }
    }

    /// Returns the next id.
    pub(crate) fn next(&self) -> HeaderValue {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let number =
            u64::from(self.process) << 32 | (self.next.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff);
        let mut name = [0; 16];
        for (place, digit) in name.iter_mut().enumerate() {
            *digit = DIGITS[(number >> (60 - 4 * place) & 15) as usize];
        }
        HeaderValue::from_bytes(&name).unwrap_or(HeaderValue::from_static("0"))
    }
}

/// Serialises a response that bypasses hyper. It closes the connection.
pub(crate) fn raw(problem: Problem, id: HeaderValue, date: &str) -> Vec<u8> {
    let (mut answer, body) = problem.into_parts();
    finish(&mut answer, id);
    let status = answer.status();
    let mut text = format!(
        "HTTP/1.1 {} {}\r\nconnection: close\r\ncontent-length: {}\r\ndate: {date}\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or(""),
        body.len()
    );
    for (name, value) in answer.headers() {
        // Writing to a string cannot fail, and all our values are ASCII.
        let _ = write!(text, "{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_plain_and_differ() {
        let ids = RequestIds::new();
        let (first, second) = (ids.next(), ids.next());
        assert_ne!(first, second);
        assert!(first.len() == 16 && first.as_bytes().iter().all(u8::is_ascii_hexdigit));
    }

    #[test]
    fn a_raw_answer_is_a_whole_problem() {
        let ids = RequestIds::new();
        let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "too slow");
        let text = String::from_utf8(raw(problem, ids.next(), "Thu, 01 Jan 1970 00:00:00 GMT")).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        assert!(head.contains("content-type: application/problem+json"));
        assert!(head.contains("x-request-id: ") && head.contains("x-content-type-options: nosniff"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["code"], "timeout");
    }
}
