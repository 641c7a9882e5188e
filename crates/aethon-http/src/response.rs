//! Answers, and the headers that every one of them carries.

use bytes::Bytes;
use http::StatusCode;
use http_body_util::Full;

/// The body of every answer: whole and in memory, so that its length is known.
pub type Body = Full<Bytes>;

/// An answer.
pub type Response = http::Response<Body>;

/// An answer with this body and no header yet.
pub(crate) fn with_body(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
}
