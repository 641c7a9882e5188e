//! AWS Signature Version 4, with the signature in the `Authorization` header.
//!
//! Covers the needs of a JSON service: no sorting of query parameters by value, no chunked bodies. The path is taken as
//! sent and percent-encoded once more, as every service but S3 expects: `%3A` is signed as `%253A`.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::{digest, hmac};

use super::credentials::Credentials;

/// The signed parts of a request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// As sent.
    pub(super) path: &'a str,
    /// Encoded, with its parameters in order.
    pub(super) query: &'a str,
    /// Lowercase names and values. The date must be among them.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// The region, service and time of a signature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) at: Timestamp,
}

/// Returns the value of `x-amz-date`.
pub(super) fn date(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Returns the value of `Authorization`.
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

/// Returns the canonical request and the names of its headers.
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

/// Percent-encodes everything but letters, digits, `-._~` and the bytes in `kept`.
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

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;

    /// The token of AWS's own test suite.
    const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

    fn credentials() -> Credentials {
        Credentials {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: Secret::default(),
            expires: None,
        }
    }

    fn sign(
        (method, path, query): (&str, &str, &str),
        headers: &[(&str, &str)],
        body: &str,
        scope: Scope<'_>,
    ) -> String {
        let date = date(scope.at);
        let mut headers = headers.to_vec();
        headers.push(("x-amz-date", &date));
        authorization(
            &Request { method, path, query, headers: &headers, body: body.as_bytes() },
            &credentials(),
            scope,
        )
    }

    #[test]
    fn the_published_vectors_come_out() {
        let scope =
            Scope { region: "us-east-1", service: "service", at: "2015-08-30T12:36:00Z".parse().unwrap() };
        let host = ("host", "example.amazonaws.com");
        let check =
            |name: &str, request, headers: &[(&str, &str)], body: &str, names: &str, signature: &str| {
                let mut all = vec![host];
                all.extend_from_slice(headers);
                assert_eq!(
                    sign(request, &all, body, scope),
                    format!(
                        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                     SignedHeaders={names}, Signature={signature}"
                    ),
                    "{name}"
                );
            };
        let plain = "host;x-amz-date";
        check(
            "get-vanilla",
            ("GET", "/", ""),
            &[],
            "",
            plain,
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        );
        check(
            "get-vanilla-query-order-key-case",
            ("GET", "/", "Param1=value1&Param2=value2"),
            &[],
            "",
            plain,
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        );
        let utf8 = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85";
        check("get-utf8", ("GET", "/ሴ", ""), &[], "", plain, utf8);
        check(
            "post-vanilla",
            ("POST", "/", ""),
            &[],
            "",
            plain,
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        );
        check(
            "post-header-key-sort",
            ("POST", "/", ""),
            &[("my-header1", "value1")],
            "",
            "host;my-header1;x-amz-date",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        );
        check(
            "post-header-value-case",
            ("POST", "/", ""),
            &[("my-header1", "VALUE1")],
            "",
            "host;my-header1;x-amz-date",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
        );
        check(
            "post-x-www-form-urlencoded",
            ("POST", "/", ""),
            &[("content-type", "application/x-www-form-urlencoded")],
            "Param1=value1",
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        );
        check(
            "post-sts-header-before",
            ("POST", "/", ""),
            &[("x-amz-security-token", TOKEN)],
            "",
            "host;x-amz-date;x-amz-security-token",
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
        );
    }

    #[test]
    fn blanks_in_values_count_as_one() {
        assert_eq!(one_blank("  a   b c  "), "a b c");
    }

    /// Signatures that AWS's SDK for Python produced for the same requests.
    #[test]
    fn model_ids_are_signed_as_the_sdk_signs_them() {
        let at = "2026-11-20T10:00:00Z".parse().unwrap();
        let body = r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#;
        let check = |region: &str, path: &str, token: &[(&str, &str)], signature: &str| {
            let host = format!("bedrock-runtime.{region}.amazonaws.com");
            let mut headers = vec![("content-type", "application/json"), ("host", &host)];
            headers.extend_from_slice(token);
            let scope = Scope { region, service: "bedrock", at };
            let signed = sign(("POST", path, ""), &headers, body, scope);
            assert!(signed.ends_with(&format!("Signature={signature}")), "{signed}");
        };
        check(
            "us-west-2",
            "/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse",
            &[],
            "1c15472634c4cbf30d813c2b590769b947d744186dc277fa23e4356e2f6db35a",
        );
        check(
            "us-east-1",
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/converse-stream",
            &[("x-amz-security-token", "SESSION/TOKEN+x==")],
            "5be17b47186e25f9b843933a50e4c4743d6f12ecc8dd1e20cff123dd4c2358d7",
        );
    }
}
