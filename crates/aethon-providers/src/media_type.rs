//! The media type of a response, which tells an answer from a page that something on the way has sent.

use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_TYPE;

/// What a response claims to be.
pub(crate) enum Media {
    /// A page for people, such as the error of a proxy.
    Page,
    /// One JSON document.
    Json,
    /// Anything else, such as a stream of events.
    Other,
}

/// Reads the media type of a response.
pub(crate) fn media_type(headers: &HeaderMap) -> Media {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "text/html" | "application/xhtml+xml" => Media::Page,
        "application/json" => Media::Json,
        _ => Media::Other,
    }
}
