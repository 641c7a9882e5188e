//! Compresses JSON answers for clients that accept it: a long conversation and the OpenAPI document shrink to a tenth.
//!
//! Compression reveals through its length how much of an answer repeats something else in it (BREACH). That takes an attacker
//! who has the owner's browser request what he chooses, with its cookie. The cookie is `SameSite=Strict` already; in addition,
//! nothing that another site's page requested is compressed, and nothing but what was read: answers to changes, which may hold
//! a code or a key, stay as they are. So do streams, which must not wait for more, and short answers, which fit a packet.

use flate2::Compression;
use http::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderValue, VARY};
use http::request::Parts;
use http::{Method, StatusCode};

use crate::assets;
use crate::body::{Body, Response};
use crate::page_set::gzip;

/// Answers below this size are sent as they are.
const MIN_BYTES: usize = 1024;
/// So are those above this one, because packing them would hold up other connections.
const MAX_BYTES: usize = 2 << 20;

/// Whether the answer to a request may be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// It may.
    Allowed,
    /// It may not.
    Refused,
}

impl Packing {
    /// Decides it by the request.
    pub(crate) fn of(head: &Parts) -> Self {
        let site = head.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let is_own = matches!(site, None | Some(b"same-origin" | b"none"));
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        if is_own && is_read && assets::takes_gzip(&head.headers) { Self::Allowed } else { Self::Refused }
    }

    /// Compresses the answer, if that is allowed and worth it.
    pub(crate) fn apply(self, answer: &mut Response) {
        if self == Self::Refused || answer.status() != StatusCode::OK || !is_json(answer) {
            return;
        }
        let Some(plain) = answer.body().whole() else { return };
        if !(MIN_BYTES..=MAX_BYTES).contains(&plain.len()) {
            return;
        }
        let Some(packed) = gzip(plain, Compression::fast()) else { return };
        *answer.body_mut() = Body::from(packed);
        let headers = answer.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

fn is_json(answer: &Response) -> bool {
    let headers = answer.headers();
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.starts_with(b"application/json")
        && !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_RANGE)
}
