//! `ETag` and `If-Match` (RFC 9110, 13.1.1): a change that was meant for another version is refused with 412 and the
//! current one. `If-None-Match: *` does the same for a change that must create something new.
//!
//! The handlers only carry the expectation: the storage compares it in the step that changes the thing, so two clients
//! cannot both succeed. A request without `If-Match` overwrites any version.

use aethon_core::version::{Expected, Version};
use http::header::{ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Returns the version that a request expects to find. A weak tag never matches, and neither does a malformed one.
pub(crate) fn expected(headers: &HeaderMap) -> Expected {
    let mut values = headers.get_all(IF_MATCH).iter().peekable();
    if values.peek().is_none() {
        return Expected::Anything;
    }
    let mut versions = Vec::new();
    for value in values {
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Expected::Existing;
        }
        versions.extend(strong_tags(text).map(Version::named));
    }
    Expected::OneOf(versions)
}

/// Returns the expectation of a request that may also create something: with `If-None-Match: *`, nothing is there yet.
pub(crate) fn expected_or_nothing(headers: &HeaderMap) -> Expected {
    let is_new = headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes().trim_ascii() == b"*");
    match expected(headers) {
        Expected::Anything if is_new => Expected::Nothing,
        expected => expected,
    }
}

/// Returns the strong tags of a list, without their quotes. Our own tags contain no comma, so others need no closer look.
fn strong_tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter_map(|tag| tag.trim().strip_prefix('"')?.strip_suffix('"'))
}

/// Returns 200 with this value, and the version that it has.
pub(crate) fn json(value: &impl Serialize, version: &Version) -> HandlerResult {
    response::json(value).map(|answer| tagged(answer, version))
}

/// Returns 200 with the present value and its version.
pub(crate) fn present(present: &Present) -> HandlerResult {
    json(&present.document, &present.version)
}

/// Adds the version to an answer.
pub(crate) fn tagged(mut answer: crate::body::Response, version: &Version) -> crate::body::Response {
    answer.headers_mut().extend(tag(version).map(|tag| (ETAG, tag)));
    answer
}

/// Returns the tag of a version; `None` for a name that fits into no header.
fn tag(version: &Version) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{}\"", version.as_str())).ok()
}

/// The current state of a resource whose change was meant for another version.
pub(crate) struct Present {
    version: Version,
    document: Value,
}

impl Present {
    /// Creates the value of a resource as its own address shows it.
    pub(crate) fn new(value: &impl Serialize, version: Version) -> Option<Self> {
        Some(Self { version, document: serde_json::to_value(value).ok()? })
    }
}

/// Returns 412 with the current value; null if there is none any more.
pub(crate) fn changed_elsewhere(present: Option<Present>) -> Problem {
    let detail = match present {
        Some(_) => {
            "it was changed elsewhere meanwhile; look at `current`, and send the change again with its ETag"
        }
        None => "it was removed elsewhere meanwhile",
    };
    let problem = Problem::new(StatusCode::PRECONDITION_FAILED, "changed_elsewhere", detail);
    match present {
        Some(Present { version, document }) => {
            let problem = problem.with_member("current", document);
            match tag(&version) {
                Some(tag) => problem.with_header(ETAG, tag),
                None => problem,
            }
        }
        None => problem.with_member("current", Value::Null),
    }
}

/// Refuses an unknown thing: 404, or 412 for a request that expects to find it.
pub(crate) fn missing(request: &Request, unknown: Problem) -> Problem {
    if expected(&request.head.headers).is_anything() { unknown } else { changed_elsewhere(None) }
}

/// Refuses a request that expects a version of something without versions: it cannot match the one that was seen.
pub(crate) fn check_unversioned(request: &Request) -> Result<(), Problem> {
    let changes = matches!(request.head.method, Method::PUT | Method::PATCH | Method::DELETE);
    let is_met =
        !changes || matches!(expected(&request.head.headers), Expected::Anything | Expected::Existing);
    if is_met {
        return Ok(());
    }
    let detail = "what this address names has no ETag, so no If-Match fits; leave the header out";
    Err(Problem::new(StatusCode::PRECONDITION_FAILED, "changed_elsewhere", detail)
        .with_member("current", Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_names_strong_tags_or_anything_that_exists() {
        let check = |values: &[&'static str], names: Option<&[&str]>| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IF_MATCH, HeaderValue::from_static(value));
            }
            let versions = |names: &[&str]| names.iter().map(|name| Version::named(*name)).collect();
            let wanted = names.map_or(Expected::Existing, |names| Expected::OneOf(versions(names)));
            assert_eq!(expected(&headers), wanted, "{values:?}");
        };
        check(&["*"], None);
        check(&["\"a\""], Some(&["a"]));
        check(&["\"a\", \"b\""], Some(&["a", "b"]));
        check(&["\"a\"", "\"b\""], Some(&["a", "b"]));
        check(&["W/\"a\""], Some(&[]));
        check(&["W/\"a\", \"b\""], Some(&["b"]));
        check(&["a"], Some(&[]));
        check(&[""], Some(&[]));
        assert!(expected(&HeaderMap::new()).is_anything());
    }

    #[test]
    fn if_none_match_expects_nothing_unless_a_version_is_named() {
        let mut headers = HeaderMap::new();
        assert!(expected_or_nothing(&headers).is_anything());
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"a\""));
        assert!(expected_or_nothing(&headers).is_anything(), "a tag there is for reading");
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        assert_eq!(expected_or_nothing(&headers), Expected::Nothing);
        headers.insert(IF_MATCH, HeaderValue::from_static("\"a\""));
        assert_eq!(expected_or_nothing(&headers), Expected::OneOf(vec![Version::named("a")]));
    }
}
