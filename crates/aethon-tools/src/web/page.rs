//! Determines the type of a response by its media type and its first bytes, and extracts the text.

use std::borrow::Cow;

use aethon_core::document::{DocumentKind, HEAD, is_readable_text};
use ureq::http::{HeaderMap, header};
use url::Url;

use super::body::Body;
use super::charset;
use super::html::{self, Readable};

/// Maximum bytes read of text, HTML and data.
const MAX_TEXT: usize = 5 << 20;
/// Maximum bytes read of a document, which is useless in part.
const MAX_DOCUMENT: usize = 20 << 20;
/// Maximum bytes read of an error page.
const MAX_REASON: usize = 64 << 10;
/// Maximum bytes of text shown.
pub(super) const MAX_LEN: usize = 2 << 20;

/// Kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    /// A PDF, an office document, an e-book: read by the reader of documents.
    Document(DocumentKind),
    /// Shown as it is: plain text, JSON, XML, source code.
    Text,
    /// Not readable as text.
    Binary,
    /// The server does not say.
    Unknown,
}

/// Returns how many bytes of a response to read.
pub(super) fn body_limit(status: u16, headers: &HeaderMap) -> usize {
    match kind_of(&media_type(headers)) {
        _ if status >= 400 => MAX_REASON,
        Kind::Html | Kind::Text | Kind::Unknown => MAX_TEXT,
        Kind::Document(_) => MAX_DOCUMENT,
        Kind::Binary => 0,
    }
}

/// Returns the media type without parameters, in lower case; empty if there is none.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    content_type(headers).split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn content_type(headers: &HeaderMap) -> Cow<'_, str> {
    headers
        .get(header::CONTENT_TYPE)
        .map_or(Cow::Borrowed(""), |value| String::from_utf8_lossy(value.as_bytes()))
}

fn kind_of(media_type: &str) -> Kind {
    let subtype = media_type.split_once('/').map_or("", |(_, subtype)| subtype);
    if let Some(kind) = DocumentKind::called("", media_type).filter(|kind| !kind.is_textual()) {
        return Kind::Document(kind);
    }
    match media_type {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "" | "application/octet-stream" | "binary/octet-stream" | "application/x-download" => Kind::Unknown,
        "image/svg+xml" => Kind::Text,
        _ if media_type.starts_with("text/") => Kind::Text,
        _ if ["json", "xml", "yaml", "javascript", "ecmascript", "toml", "csv", "sql", "graphql", "x-sh"]
            .iter()
            .any(|form| {
                subtype == *form || subtype.ends_with(&format!("+{form}")) || subtype == format!("x-{form}")
            }) =>
        {
            Kind::Text
        }
        "application/x-ndjson" | "application/jsonl" | "application/ld+json" | "message/rfc822" => Kind::Text,
        _ => Kind::Binary,
    }
}

/// Determines the kind of a body that has arrived, whatever it is labelled: many servers serve a document as a download
/// or under the name of another kind, a page as plain text, and a page to sign in under the name of a document.
fn kind_by_content(media_type: &str, bytes: &[u8]) -> Kind {
    let start = bytes.trim_ascii_start();
    let begins_with = |words: &str| {
        start.get(..words.len()).is_some_and(|head| head.eq_ignore_ascii_case(words.as_bytes()))
    };
    let is_page = || begins_with("<!doctype html") || begins_with("<html");
    let document = DocumentKind::of(&bytes[..bytes.len().min(HEAD)], "", media_type);
    if let Some(document) = document.filter(|kind| !kind.is_textual()) {
        return Kind::Document(document);
    }
    match kind_of(media_type) {
        Kind::Unknown | Kind::Document(_) if is_page() => Kind::Html,
        Kind::Document(_) if !bytes.contains(&0) && is_readable_text(bytes) => Kind::Text,
        Kind::Unknown if bytes.contains(&0) => Kind::Binary,
        Kind::Unknown => Kind::Text,
        kind => kind,
    }
}

/// Returns the kind of document that a response is, if it is one.
pub(super) fn document_of(headers: &HeaderMap, body: &Body) -> Option<DocumentKind> {
    match kind_by_content(&media_type(headers), &body.bytes) {
        Kind::Document(kind) => Some(kind),
        _ => None,
    }
}

/// Extracts the text of a response that is no document. The error says why there is none. Blocks: a long page takes a
/// while.
pub(super) fn read(headers: &HeaderMap, body: &Body, address: &Url) -> Result<Readable, String> {
    let media_type = media_type(headers);
    let kind = kind_by_content(&media_type, &body.bytes);
    match kind {
        Kind::Html => Ok(html::read(&charset::decode(&body.bytes, &content_type(headers)), address)),
        Kind::Text | Kind::Unknown => {
            let text = charset::decode(&body.bytes, &content_type(headers));
            let end = text.floor_char_boundary(MAX_LEN);
            let is_cut = end < text.len();
            Ok(Readable { title: String::new(), text: text[..end].to_owned(), is_cut })
        }
        Kind::Document(_) if body.cut.is_some() => {
            Err(format!("it is a document of more than {} MiB, or broke off", MAX_DOCUMENT >> 20))
        }
        Kind::Document(_) | Kind::Binary => {
            let name =
                if media_type.is_empty() { "binary data".to_owned() } else { format!("{media_type:?}") };
            Err(format!("it is {name}, which has no text"))
        }
    }
}

#[cfg(test)]
mod tests {
    use ureq::http::HeaderValue;

    use super::*;

    #[test]
    fn the_type_is_determined_by_header_and_content() {
        let check = |media_type: &str, bytes: &[u8], expected: Kind| {
            assert_eq!(kind_by_content(media_type, bytes), expected, "{media_type}");
        };
        check("text/html", b"x", Kind::Html);
        check("application/xhtml+xml", b"x", Kind::Html);
        check("text/plain", b"<html>", Kind::Text);
        check("text/plain", b"%PDF-1.7", Kind::Document(DocumentKind::Pdf));
        check("application/json", b"{}", Kind::Text);
        check("application/vnd.github+json", b"{}", Kind::Text);
        check("application/x-yaml", b"a: 1", Kind::Text);
        check("application/rss+xml", b"<rss/>", Kind::Text);
        check("application/pdf", b"%PDF-1.7", Kind::Document(DocumentKind::Pdf));
        check("application/octet-stream", b"%PDF-1.7", Kind::Document(DocumentKind::Pdf));
        check("", b" <!DOCTYPE HTML><p>x", Kind::Html);
        check("", b"hello", Kind::Text);
        check("", b"\x7fELF\0\0", Kind::Binary);
        check("image/png", b"\x89PNG", Kind::Binary);
        check("video/mp4", b"", Kind::Binary);
        check("application/zip", b"PK", Kind::Binary);
        check("application/octet-stream", b"PK\x03\x04word/", Kind::Document(DocumentKind::Package));
        check("application/epub+zip", b"PK\x03\x04", Kind::Document(DocumentKind::Package));
        check("text/rtf", b"{\\rtf1", Kind::Document(DocumentKind::RichText));
        check("text/csv", b"a,b", Kind::Text);
        check("application/pdf", b"<!doctype html>sign in", Kind::Html);
        check("application/msword", b"<html>sign in", Kind::Html);
        check("application/msword", b"{\\rtf1", Kind::Document(DocumentKind::RichText));
        check("application/pdf", b"PK\x03\x04word/", Kind::Document(DocumentKind::Package));
        check("text/html", b"%PDF-1.7", Kind::Document(DocumentKind::Pdf));
        check("application/pdf", b"\0\x01%PDF-1.7", Kind::Document(DocumentKind::Pdf));
        check("application/pdf", b"\x01\x02\xff", Kind::Document(DocumentKind::Pdf));
        check("application/vnd.ms-excel", b"a;b\n1;2", Kind::Text);
    }

    #[test]
    fn unreadable_types_are_not_loaded() {
        let of = |status: u16, content_type: &'static str| {
            let headers =
                HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))]);
            body_limit(status, &headers)
        };
        assert_eq!(of(200, "video/mp4"), 0);
        assert_eq!(of(200, "text/html; charset=utf-8"), MAX_TEXT);
        assert_eq!(of(404, "text/html"), MAX_REASON);
    }
}
