//! Headers shared by several dialects.

use ureq::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderName, HeaderValue};

use aethon_core::secret::Secret;

/// A request's headers.
pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns the headers for a JSON body and a response of type `accept`.
pub(crate) fn json(accept: &'static str) -> Headers {
    vec![(CONTENT_TYPE, JSON), (ACCEPT, HeaderValue::from_static(accept))]
}

/// Returns the key as a bearer token, or `None` without a key.
pub(crate) fn bearer(key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((AUTHORIZATION, secret(&format!("Bearer {}", present(key)?))?))
}

/// Returns the key in a header of its own.
pub(crate) fn key(name: &'static str, key: &Secret) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_static(name), secret(present(key)?)?))
}

/// Returns whether the key is a valid header value, unlike, say, one with a line break from a badly written file.
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
