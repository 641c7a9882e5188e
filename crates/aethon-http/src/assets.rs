//! The embedded files below `/dashboard/static/`, and how every embedded file is sent: compressed if the client
//! accepts it, with an ETag, and cached forever if the path contains the hash of the whole tree.

use http::StatusCode;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_NONE_MATCH, VARY,
};

use crate::body::Response;
use crate::error::Problem;
use crate::page_set::File;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The service worker of the pages.
const WORKER: &str = "service-worker.js";
const WORKER_ALLOWED: HeaderName = HeaderName::from_static("service-worker-allowed");

/// The folders of what the sandboxed frame of diagrams loads.
const FRAME: [&str; 2] = ["frame/", "vendor/mermaid/"];

/// The page in that frame.
const DIAGRAM_PAGE: &str = "frame/diagram.html";

/// The page around what a model wrote as a page. It loads no other file.
const ARTEFACT_PAGE: &str = "frame/artefact.html";

/// How long clients may cache a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// Not at all.
    Never,
    /// Only after revalidation with the server.
    Revalidate,
    /// Forever: the address changes with the content.
    Immutable,
}

/// `GET /dashboard/static/*`.
pub(crate) fn serve(_: (), request: &Request) -> HandlerResult {
    // The raw path is only looked up in the table of embedded names, so no path traversal is possible.
    let found = aethon_web::find(request.params.rest());
    let found = found.ok_or_else(|| Problem::not_found("there is no such file"))?;
    let caching = if found.is_immutable { Caching::Immutable } else { Caching::Revalidate };
    let mut answer = respond(&File::from(found.asset), &request.head.headers, caching);
    if FRAME.iter().any(|folder| found.asset.name.starts_with(folder)) {
        response::open_to_frame(&mut answer);
    }
    match found.asset.name {
        DIAGRAM_PAGE => response::seal_diagram(&mut answer),
        ARTEFACT_PAGE => response::seal_artefact(&mut answer),
        // Its address lies deeper than the pages that it serves.
        WORKER => drop(answer.headers_mut().insert(WORKER_ALLOWED, HeaderValue::from_static("/"))),
        _ => {}
    }
    Ok(answer)
}

/// `GET /favicon.ico`, for browsers that show something that is no page, such as the API's JSON.
pub(crate) fn favicon(_: (), request: &Request) -> HandlerResult {
    let icon = aethon_web::asset("icons/icon-192.png");
    let icon = icon.ok_or_else(|| Problem::not_found("there is no icon"))?;
    Ok(respond(&File::from(icon), &request.head.headers, Caching::Revalidate))
}

/// Returns the file, or 304 if the client's copy is current.
pub(crate) fn respond(file: &File, headers: &HeaderMap, caching: Caching) -> Response {
    if !has_current(headers, &file.etag) {
        return whole(file, headers, caching);
    }
    let mut answer = response::with_body(StatusCode::NOT_MODIFIED, "");
    describe(&mut answer, file, caching);
    answer
}

/// Returns the file even if the client's copy is current.
pub(crate) fn whole(file: &File, headers: &HeaderMap, caching: Caching) -> Response {
    let gzip = file.gzip.as_ref().filter(|_| takes_gzip(headers));
    let body = gzip.unwrap_or(&file.body).clone();
    let mut answer = response::with_body(StatusCode::OK, body);
    describe(&mut answer, file, caching);
    let own = answer.headers_mut();
    own.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    if gzip.is_some() {
        own.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

fn describe(answer: &mut Response, file: &File, caching: Caching) {
    let headers = answer.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    let keep = match caching {
        Caching::Never => "no-store",
        Caching::Revalidate => "no-cache",
        Caching::Immutable => "public, max-age=31536000, immutable",
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
    if let Ok(etag) = HeaderValue::from_str(&file.etag)
        && caching != Caching::Never
    {
        headers.insert(ETAG, etag);
    }
}

/// Returns whether the client sent this ETag. GET requires the weak comparison.
fn has_current(headers: &HeaderMap, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let named = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|tag| tag.trim() == "*" || opaque(tag) == opaque(etag))
}

/// Returns whether the client accepts gzip, by name or by `*`, with a nonzero quality.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for part in values.flat_map(|value| value.split(',')) {
        let (coding, parameters) = part.split_once(';').unwrap_or((part, ""));
        let quality =
            parameters.trim().strip_prefix("q=").map_or(Some(1.0), |quality| quality.trim().parse().ok());
        let is_wanted = quality.is_some_and(|quality: f32| quality > 0.0);
        match coding.trim() {
            coding if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") => {
                return is_wanted;
            }
            "*" => any = is_wanted,
            _ => {}
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_goes_only_to_those_who_take_it() {
        for (value, expected) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5, br", true),
            ("gzip;q=0", false),
            ("gzip;q=0.000, *", false),
            ("*", true),
            ("*;q=0", false),
            ("identity, br", false),
            ("", false),
            ("gzip;q=nonsense", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(takes_gzip(&headers), expected, "{value}");
        }
    }

    #[test]
    fn a_known_tag_is_found_in_any_form() {
        for (value, expected) in [
            ("\"abc\"", true),
            ("W/\"abc\"", true),
            ("\"x\", W/\"abc\"", true),
            ("*", true),
            ("\"abcd\"", false),
            ("abc", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(value));
            assert_eq!(has_current(&headers, "W/\"abc\""), expected, "{value}");
        }
    }
}
