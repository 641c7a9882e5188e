//! Failures: an [`Error`] of the server itself, and a [`Problem`], which is a response to a client.
//!
//! Every error a client sees is `application/problem+json` (RFC 9457) with a stable snake_case `code`. The client
//! gets a sentence; the cause goes to the log.

use std::borrow::Cow;
use std::io;

use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::body::Response;

/// The challenge of every 401. It does not make browsers open a login dialog.
pub(crate) const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"aethon\"");

/// Code for a refusal because nothing can be stored, for HTTP and sockets.
pub(crate) const STORAGE_UNAVAILABLE: &str = "storage_unavailable";

/// Code for a refusal because what room the storage has is kept for the owner.
const STORAGE_FULL: &str = "storage_full";

/// After how many seconds to retry then. The wait is long, because room appears only when something is removed.
const NO_ROOM_RETRY_SECONDS: u64 = 60;

/// After how many seconds to retry when the storage has failed.
pub(crate) const STORAGE_RETRY_SECONDS: u64 = 5;

/// A shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The server could not start or could not continue.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    #[source]
    source: Option<io::Error>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, source: io::Error) -> Self {
        Self { message: message.into(), source: Some(source) }
    }

    /// Creates an error whose message is complete.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Returns whether another program already listens on the address.
    pub fn is_address_in_use(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.kind() == io::ErrorKind::AddrInUse)
    }
}

/// An error as the client sees it.
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Content>);

#[derive(Debug, Clone)]
struct Content {
    status: StatusCode,
    code: &'static str,
    detail: Cow<'static, str>,
    fields: Vec<Field>,
    /// Details that the code alone does not give, as further members of the document.
    extra: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
}

/// An error in one field of a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "FieldFault")]
pub(crate) struct Field {
    /// Its name.
    field: Cow<'static, str>,
    /// What is wrong with it.
    message: Cow<'static, str>,
}

/// A failure (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Document<'a> {
    /// Always `about:blank`: `code` says what it is.
    r#type: &'static str,
    /// The name of the status.
    title: &'a str,
    /// The status.
    status: u16,
    /// A sentence for people.
    detail: &'a str,
    /// What went wrong, in a word that stays the same.
    code: &'a str,
    /// The fields of the request that are wrong.
    #[serde(skip_serializing_if = "<[Field]>::is_empty")]
    errors: &'a [Field],
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

impl Problem {
    /// Creates a problem from its status, its stable code and a sentence.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        let (detail, extra) = (detail.into(), Map::new());
        Self(Box::new(Content { status, code, detail, fields: Vec::new(), extra, header: None }))
    }

    /// Returns 400: the request is malformed.
    pub(crate) fn bad_request(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// Returns 401: the token is missing or wrong.
    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the access token is missing or wrong; send it as `Authorization: Bearer TOKEN` or sign in at /dashboard",
        )
        .with_header(WWW_AUTHENTICATE, CHALLENGE)
    }

    /// Returns 404: there is nothing here.
    pub(crate) fn not_found(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// Returns 405, with the allowed methods.
    pub(crate) fn method_not_allowed(allow: HeaderValue) -> Self {
        let detail = "this address does not know that method; the Allow header lists the ones that it knows";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail).with_header(ALLOW, allow)
    }

    /// Returns 422: one field is missing or invalid.
    pub(crate) fn invalid(
        field: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (field, message) = (field.into(), message.into());
        let mut problem =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", format!("{field}: {message}"));
        problem.0.fields.push(Field { field, message });
        problem
    }

    /// Returns 422: these fields are missing or invalid.
    pub(crate) fn invalid_fields(
        faults: impl IntoIterator<Item = (impl Into<Cow<'static, str>>, impl Into<Cow<'static, str>>)>,
    ) -> Self {
        let fields: Vec<Field> = faults
            .into_iter()
            .map(|(field, message)| Field { field: field.into(), message: message.into() })
            .collect();
        let lines: Vec<String> =
            fields.iter().map(|fault| format!("{}: {}", fault.field, fault.message)).collect();
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", lines.join("; "));
        problem.0.fields = fields;
        problem
    }

    /// Returns 429: too many wrong tokens.
    pub(crate) fn too_many_attempts(seconds: u64) -> Self {
        let detail = "too many requests with a wrong token; wait, and check `dashboard.auth_token`";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", detail).retry_after(seconds)
    }

    /// Returns 500: an internal error.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "something went wrong here; the log has the cause under this answer's X-Request-Id",
        )
    }

    /// Replaces the stable code.
    #[must_use]
    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = code;
        self
    }

    /// Adds the number of seconds after which to retry.
    #[must_use]
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds.max(1)))
    }

    /// Adds a member to the document.
    #[must_use]
    pub(crate) fn with_member(mut self, name: &str, value: Value) -> Self {
        self.0.extra.insert(name.to_owned(), value);
        self
    }

    /// Adds a header.
    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Returns the status.
    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    /// Converts the problem to a response.
    pub(crate) fn into_response(self) -> Response {
        let (answer, body) = self.into_parts();
        answer.map(|()| body.into())
    }

    /// Returns the head of the response and its body as bytes.
    pub(crate) fn into_parts(self) -> (http::Response<()>, Vec<u8>) {
        let Content { status, code, detail, fields, extra, header } = *self.0;
        let document = Document {
            r#type: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: &detail,
            code,
            errors: &fields,
            extra: &extra,
        };
        // Serialising strings and a number cannot fail; even an empty body would still carry the status.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut answer = http::Response::new(());
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some((name, value)) = header {
            headers.insert(name, value);
        }
        (answer, body)
    }
}

impl From<aethon_core::error::Error> for Problem {
    /// Converts errors of the core's traits: their messages go to clients, their causes to the log.
    fn from(error: aethon_core::error::Error) -> Self {
        if error.is_not_found() {
            Self::not_found(error.to_string())
        } else if error.is_mismatch() {
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "mismatch", error.to_string())
        } else if error.is_invalid() {
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", error.to_string())
        } else if error.is_secret() {
            Self::invalid("content", error.to_string()).with_code("secret_detected")
        } else if error.is_denied() {
            Self::new(StatusCode::FORBIDDEN, "denied", error.to_string())
        } else if error.is_unavailable() {
            let (status, code) = (StatusCode::SERVICE_UNAVAILABLE, STORAGE_UNAVAILABLE);
            Self::new(status, code, error.to_string()).retry_after(STORAGE_RETRY_SECONDS)
        } else if error.is_no_room() {
            let (status, code) = (StatusCode::SERVICE_UNAVAILABLE, STORAGE_FULL);
            Self::new(status, code, error.to_string()).retry_after(NO_ROOM_RETRY_SECONDS)
        } else if error.is_changed_elsewhere() {
            Self::new(StatusCode::PRECONDITION_FAILED, "changed_elsewhere", error.to_string())
        } else if error.is_busy() {
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(1)
        } else {
            tracing::error!(error = &error as &dyn std::error::Error, "a request failed");
            Self::internal()
        }
    }
}
