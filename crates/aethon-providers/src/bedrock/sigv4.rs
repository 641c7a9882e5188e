//! AWS Signature Version 4, with the signature in the `Authorization` header.
//!
//! Covers what a JSON service needs: no query parameters to sort by value, no chunked bodies. The path is taken as it is
//! sent and percent-encoded once more, which is what every service but S3 expects: `%3A` is signed as `%253A`.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::{digest, hmac};

use super::credentials::Credentials;

/// What is signed.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// As it is sent.
    pub(super) path: &'a str,
    /// Encoded, its parameters in order.
    pub(super) query: &'a str,
    /// Lower-case names and values. The date must be among them.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// For whom and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) at: Timestamp,
}

/// The value of `x-amz-date`.
pub(super) fn date(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// The value of `Authorization`.
pub(super) fn authorization(request: &Request<'_>, credentials: &Credentials, scope: Scope<'_>) -> String {
    let (canonical, signed_headers) = canonical(request);
    let moment = date(scope.at);
    let day = moment.get(..8).unwrap_or_default();
    let place = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let to_sign = format!("AWS4-HMAC-SHA256\n{moment}\n{place}\n{}", sha256(canonical.as_bytes()));
    let secret = format!("AWS4{}", credentials.secret_access_key.expose());
    let key = [day, scope.region, scope.service, "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, part| mac(&key, part.as_bytes()));
    let signature = hex(&mac(&key, to_sign.as_bytes()));
    let id = &credentials.access_key_id;
    format!("AWS4-HMAC-SHA256 Credential={id}/{place}, SignedHeaders={signed_headers}, Signature={signature}")
}

/// The request in the form that is signed, and the names of its headers.
fn canonical(request: &Request<'_>) -> (String, String) {
    let mut headers: Vec<(&str, String)> =
        request.headers.iter().map(|(name, value)| (*name, one_blank(value))).collect();
    headers.sort_by_key(|(name, _)| *name);
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let path = encode(request.path, b"/");
    let canonical =
        format!("{}\n{path}\n{}\n{lines}\n{names}\n{}", request.method, request.query, sha256(request.body));
    (canonical, names)
}

fn one_blank(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Percent-encodes everything but letters, digits, `-._~` and what is kept.
pub(super) fn encode(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
