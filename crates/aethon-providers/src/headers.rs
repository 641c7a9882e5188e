//! Headers that several dialects send.

use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderName, HeaderValue};

use aethon_core::secret::Secret;

/// A request's headers.
pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// For a body of JSON, and an answer in `accept`.
pub(crate) fn json(accept: &'static str) -> Headers {
    vec![(CONTENT_TYPE, JSON), (ACCEPT, HeaderValue::from_static(accept))]
}

/// The key as a bearer token; nothing without a key.
pub(crate) fn bearer(key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((AUTHORIZATION, secret(&format!("Bearer {}", present(key)?))?))
}

/// The key as a header of its own.
pub(crate) fn key(name: &'static str, key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_static(name), secret(present(key)?)?))
}

/// Whether the key can stand in a header at all; a line break from a badly written file cannot.
pub(crate) fn can_hold(key: &Secret) -> bool {
    present(key).is_none_or(|key| secret(key).is_some())
}

fn present(key: &Secret) -> Option<&str> {
    (!key.is_empty()).then(|| key.expose().trim())
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
