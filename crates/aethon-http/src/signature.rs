//! The signature of a webhook: the hex HMAC-SHA256 of the raw body under `webhook.secret`.

use aethon_core::secret::Secret;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName};
use ring::hmac;

use crate::error::Problem;
use crate::hex::unhex;

/// The header that carries it.
const SIGNATURE: HeaderName = HeaderName::from_static("x-aethon-signature");

/// Verifies signatures, if there is a secret.
pub(crate) struct Verifier(Option<hmac::Key>);

impl Verifier {
    /// A verifier for this secret; without one everything passes.
    pub(crate) fn new(secret: &Secret) -> Self {
        let key = || hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Self((!secret.is_empty()).then(key))
    }

    /// Whether the request carries what may be a signature, where one is wanted. What carries none need not be read.
    pub(crate) fn is_signed(&self, headers: &HeaderMap) -> bool {
        self.0.is_none() || claimed(headers).is_some()
    }

    /// Whether the request carries exactly one signature, and it is that of the body: hex in either case, with or
    /// without `sha256=` in front.
    pub(crate) fn accepts(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let Some(key) = &self.0 else { return true };
        claimed(headers).is_some_and(|signature| hmac::verify(key, body, &signature).is_ok())
    }
}

/// The answer to a request whose signature is not there or not right.
pub(crate) fn refusal() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "bad_signature",
        "X-Aethon-Signature is missing or wrong; it must be the hex HMAC-SHA256 of the raw body under `webhook.secret`",
    )
}

/// The one signature that a request carries, if it has the form of one.
fn claimed(headers: &HeaderMap) -> Option<[u8; 32]> {
    let mut signatures = headers.get_all(SIGNATURE).iter();
    let first = signatures.next()?;
    if signatures.next().is_some() { None } else { decode(first.as_bytes()) }
}

fn decode(value: &[u8]) -> Option<[u8; 32]> {
    let hex = value.trim_ascii();
    unhex(hex.strip_prefix(b"sha256=").unwrap_or(hex))
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;
    use crate::hex::hex;

    #[test]
    fn only_the_signature_of_these_bytes_is_accepted() {
        let body = b"{\"text\": \"hello\"}";
        let right = hex(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"s3cret"), body).as_ref());
        let check = |signatures: &[&str], expected: bool| {
            let mut headers = HeaderMap::new();
            for signature in signatures {
                headers.append(SIGNATURE, HeaderValue::from_str(signature).unwrap());
            }
            assert_eq!(
                Verifier::new(&Secret::new("s3cret")).accepts(&headers, body),
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
        assert!(Verifier::new(&Secret::new(" ")).accepts(&HeaderMap::new(), body));
    }
}
