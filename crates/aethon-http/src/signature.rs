//! The signature of a webhook, in two versions.
//!
//! Version 1 is the hex HMAC-SHA256 of the raw body under `webhook.secret`. Anyone who captures such a request can
//! replay it at any time. A sender that adds `X-Aethon-Timestamp` (seconds since 1970) signs in version 2: the signed
//! data starts with the time and the `Idempotency-Key`, followed by the body, so neither can be changed, and the
//! request is valid for five minutes before and after its time. A signature of one version is never valid in the
//! other, because no JSON starts with `v2`. `replay` ensures that a version 2 signature is used only once.

use aethon_core::secret::Secret;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName};
use jiff::Timestamp;
use ring::hmac;

use crate::error::Problem;
use crate::hex::{hex, unhex};

/// The header with the signature.
const SIGNATURE: HeaderName = HeaderName::from_static("x-aethon-signature");
/// The header with the time, in version 2.
const TIMESTAMP: HeaderName = HeaderName::from_static("x-aethon-timestamp");
/// The header that version 2 covers as well.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How far a request's time may differ from ours, in seconds.
pub(crate) const WINDOW: u64 = 300;

/// Verifies signatures, if there is a secret.
pub(crate) struct Verifier(Option<hmac::Key>);

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its signature is missing or wrong.
    Signature,
    /// Its time differs too much from ours.
    Time,
    /// It was used before.
    Used,
    /// The window already holds so many signatures that replays of another one could not be detected.
    Crowded,
}

/// A valid version 2 signature, which identifies its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signed {
    /// The request's time, in seconds since 1970.
    pub(crate) time: i64,
    /// The signature.
    pub(crate) signature: [u8; 32],
}

impl Signed {
    /// Returns its name among all signatures.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.time, hex(&self.signature))
    }
}

impl Verifier {
    /// Creates a verifier for this secret. Without a secret, everything passes.
    pub(crate) fn new(secret: &Secret) -> Self {
        let key = || hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Self((!secret.is_empty()).then(key))
    }

    /// Returns whether the request carries what may be a signature, or needs none. Otherwise it need not be read.
    pub(crate) fn is_signed(&self, headers: &HeaderMap) -> bool {
        self.0.is_none() || claimed(headers).is_some()
    }

    /// Checks that the request carries exactly one signature and that it is right: hex in either case, optionally
    /// prefixed by `sha256=` or, in version 2, `v2=`. Returns a version 2 signature.
    pub(crate) fn judge(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<Signed>, Refusal> {
        let Some(key) = &self.0 else { return Ok(None) };
        let signature = claimed(headers).ok_or(Refusal::Signature)?;
        if !headers.contains_key(TIMESTAMP) {
            return hmac::verify(key, body, &signature).map(|()| None).map_err(|_| Refusal::Signature);
        }
        let time = only(headers, &TIMESTAMP).ok_or(Refusal::Signature)?;
        let named = if headers.contains_key(IDEMPOTENCY_KEY) {
            only(headers, &IDEMPOTENCY_KEY).ok_or(Refusal::Signature)?
        } else {
            b""
        };
        let mut signed = hmac::Context::with_key(key);
        for part in [b"v2\n", time, b"\n", named, b"\n", body] {
            signed.update(part);
        }
        // In constant time: the compared values are tags of both, which an outsider cannot choose.
        let (right, claimed) = (signed.sign(), hmac::sign(key, &signature));
        hmac::verify(key, right.as_ref(), claimed.as_ref()).map_err(|_| Refusal::Signature)?;
        // Checked last, so that only holders of the secret learn that the clocks differ.
        let time: i64 =
            std::str::from_utf8(time).ok().and_then(|time| time.parse().ok()).ok_or(Refusal::Signature)?;
        if now.as_second().abs_diff(time) > WINDOW {
            return Err(Refusal::Time);
        }
        Ok(Some(Signed { time, signature }))
    }
}

impl Refusal {
    /// Returns the response to such a request.
    pub(crate) fn problem(self) -> Problem {
        match self {
            Self::Signature => Problem::new(
                StatusCode::FORBIDDEN,
                "bad_signature",
                "X-Aethon-Signature is missing or wrong; it must be the hex HMAC-SHA256 of the raw body under `webhook.secret`, \
                 or, with X-Aethon-Timestamp, that of the lines v2, the time, the Idempotency-Key and the body",
            ),
            Self::Time => Problem::new(
                StatusCode::FORBIDDEN,
                "stale_timestamp",
                "X-Aethon-Timestamp is more than five minutes from the time here; sign again, and check both clocks",
            ),
            Self::Used => Problem::new(
                StatusCode::FORBIDDEN,
                "signature_used",
                "this signature was taken before; sign each request anew, with its own time, or repeat one at the same address \
                 under its Idempotency-Key",
            ),
            Self::Crowded => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                "too many signed requests within ten minutes; try again later",
            )
            .retry_after(WINDOW),
        }
    }
}

/// Returns the only value of a header, trimmed, or `None` if it is repeated.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { Some(first.as_bytes().trim_ascii()) }
}

/// Returns the signature of a request, if there is exactly one and it is well formed.
fn claimed(headers: &HeaderMap) -> Option<[u8; 32]> {
    let hex = only(headers, &SIGNATURE)?;
    let version = headers.contains_key(TIMESTAMP).then(|| hex.strip_prefix(b"v2=")).flatten();
    unhex(version.or_else(|| hex.strip_prefix(b"sha256=")).unwrap_or(hex))
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    #[test]
    fn a_signature_of_other_bytes_is_refused() {
        let body = b"{\"text\": \"hello\"}";
        let right = hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"s3cret"), body).as_ref());
        let check = |signatures: &[&str], expected: bool| {
            let mut headers = HeaderMap::new();
            for signature in signatures {
                headers.append(SIGNATURE, HeaderValue::from_str(signature).unwrap());
            }
            let verifier = Verifier::new(&Secret::new("s3cret"));
            assert_eq!(
                verifier.judge(&headers, body, Timestamp::UNIX_EPOCH).is_ok(),
                expected,
                "{signatures:?}"
            );
        };
        check(&[&right], true);
        check(&[&right.to_uppercase()], true);
        check(&[&format!("sha256={right}")], true);
        check(&[], false);
        check(&[""], false);
        check(&["sha256="], false);
        check(&[&right[1..]], false);
        check(&[&format!("{right}00")], false);
        check(&[&format!("sha1={right}")], false);
        check(&[&"0".repeat(64)], false);
        check(&[&"zz".repeat(32)], false);
        check(&[&right, &right], false);
        let open = Verifier::new(&Secret::new(" "));
        assert!(open.judge(&HeaderMap::new(), body, Timestamp::UNIX_EPOCH).is_ok());
    }

    #[test]
    fn a_time_and_a_key_are_covered_by_the_second_version() {
        let body = b"{\"text\": \"hello\"}";
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"s3cret");
        let sign = |signed: &[u8]| hex(hmac::sign(&key, signed).as_ref());
        let v2 = |time: &str, named: &str| {
            sign(&[b"v2\n", time.as_bytes(), b"\n", named.as_bytes(), b"\n", body].concat())
        };
        let check = |signature: &str, time: &[&str], named: &[&str], expected: Result<(), Refusal>| {
            let mut headers = HeaderMap::new();
            headers.append(SIGNATURE, HeaderValue::from_str(signature).unwrap());
            for (name, values) in [(TIMESTAMP, time), (IDEMPOTENCY_KEY, named)] {
                for value in values {
                    headers.append(&name, HeaderValue::from_str(value).unwrap());
                }
            }
            let now = Timestamp::from_second(1_000_000).unwrap();
            let judged = Verifier::new(&Secret::new("s3cret")).judge(&headers, body, now);
            assert_eq!(judged.map(drop), expected, "{signature} {time:?} {named:?}");
        };
        let right = v2("1000000", "");
        check(&right, &["1000000"], &[], Ok(()));
        check(&format!("v2={right}"), &["1000000"], &[], Ok(()));
        check(&format!("sha256={right}"), &["1000000"], &[], Ok(()));
        check(&v2("999700", "k"), &["999700"], &["k"], Ok(()));
        check(&v2("1000300", ""), &["1000300"], &[], Ok(()));
        check(&v2("999699", ""), &["999699"], &[], Err(Refusal::Time));
        check(&v2("1000301", ""), &["1000301"], &[], Err(Refusal::Time));
        let wrong = Err(Refusal::Signature);
        check(&right, &["1000001"], &[], wrong);
        check(&right, &["1000000"], &["k"], wrong);
        check(&v2("1000000", "k"), &["1000000"], &["other"], wrong);
        check(&v2("1000000", "k"), &["1000000"], &[], wrong);
        check(&right, &["1000000", "1000000"], &[], wrong);
        check(&v2("1000000", "k"), &["1000000"], &["k", "k"], wrong);
        check(&v2("soon", ""), &["soon"], &[], wrong);
        check(&right, &[], &[], wrong);
        check(&sign(body), &["1000000"], &[], wrong);
        check(&format!("v2={}", sign(body)), &[], &[], wrong);
        check(&sign(body), &[], &["k"], Ok(()));
    }
}
