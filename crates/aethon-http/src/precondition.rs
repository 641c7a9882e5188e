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

use crate::body::Response;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Returns the version that a request expects to find. A weak tag never matches; a malformed one is refused before ([`check_form`]).
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

/// Refuses an `If-Match` that is neither `*` nor a list of tags. A client that sends one would else learn that something was
/// changed, although nothing was.
pub(crate) fn check_form(headers: &HeaderMap) -> Result<(), Problem> {
    let is_list =
        |value: &HeaderValue| value.as_bytes().trim_ascii() == b"*" || is_tag_list(value.as_bytes());
    if headers.get_all(IF_MATCH).iter().all(is_list) {
        return Ok(());
    }
    let detail = "If-Match must be `*`, or ETags with their quotation marks, such as \"5f2c\"";
    Err(Problem::bad_request("malformed_if_match", detail))
}

/// Returns whether this is a list of at least one tag (RFC 9110, 8.8.3). A tag may hold a comma.
fn is_tag_list(mut list: &[u8]) -> bool {
    let mut tags = 0;
    loop {
        list = list.trim_ascii_start();
        let tag = list.strip_prefix(b"W/").unwrap_or(list);
        if let Some(inner) = tag.strip_prefix(b"\"") {
            let Some(end) = inner.iter().position(|byte| *byte == b'"') else { return false };
            if inner[..end].iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
                return false;
            }
            tags += 1;
            list = inner[end + 1..].trim_ascii_start();
        }
        match list.split_first() {
            None => return tags > 0,
            Some((b',', rest)) => list = rest,
            Some(_) => return false,
        }
    }
}

/// What a request that reads expects to find; `None` if it expects nothing.
pub(crate) fn expected_reading(request: &Request) -> Option<Expected> {
    let reads = matches!(request.head.method, Method::GET | Method::HEAD);
    Some(expected(&request.head.headers)).filter(|expected| reads && !expected.is_anything())
}

/// Returns what was read, if it is an expected version. What has no version is returned in any case.
pub(crate) fn read(answer: Response, expected: Option<&Expected>) -> HandlerResult {
    let tag = answer.headers().get(ETAG).filter(|_| answer.status() == StatusCode::OK);
    let (Some(Expected::OneOf(versions)), Some(tag)) = (expected, tag) else { return Ok(answer) };
    let is_met = strong_tags(tag.to_str().unwrap_or_default())
        .any(|tag| versions.iter().any(|version| version.as_str() == tag));
    if is_met {
        return Ok(answer);
    }
    let detail = "what is there has another ETag than If-Match names; leave the header out to read it";
    Err(Problem::new(StatusCode::PRECONDITION_FAILED, "changed_elsewhere", detail))
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
pub(crate) fn tagged(mut answer: Response, version: &Version) -> Response {
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
    fn if_match_is_a_star_or_a_list_of_tags() {
        let check = |value: &'static str, is_well_formed: bool| {
            let headers = HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_static(value))]);
            assert_eq!(check_form(&headers).is_ok(), is_well_formed, "{value}");
        };
        for value in ["*", " * ", "\"a\"", "W/\"a\"", "\"a\", \"b,c\"", "\"\"", ",\"a\","] {
            check(value, true);
        }
        for value in [
            "",
            "a",
            "nope",
            "\"a",
            "a\"",
            "\"a\" \"b\"",
            "\"a\"b",
            "w/\"a\"",
            "W/",
            "*, \"a\"",
            ",",
            "\"a b\"",
        ] {
            check(value, false);
        }
        assert!(check_form(&HeaderMap::new()).is_ok());
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
