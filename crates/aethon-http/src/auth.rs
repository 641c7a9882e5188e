//! The access token: where a request may carry it, and whether it is the right one.
//!
//! The first of cookie, `Authorization: Bearer` and `?token=` that is present and not empty is the candidate. It is
//! compared as bytes and in constant time, by its HMAC under a key of this process, so that neither length nor alphabet
//! matters. The cookie that the server sets does not hold the token but a value derived from it.

use aethon_core::secret::Secret;
use http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderValue};
use percent_encoding::percent_decode_str;
use ring::hmac;

/// The name of the cookie.
const COOKIE_NAME: &str = "aethon_dash";
const ATTRIBUTES: &str = "HttpOnly; SameSite=Strict; Path=/";

/// Knows the token and compares candidates with it.
pub(crate) struct TokenAuth(Option<Keys>);

struct Keys {
    /// Under this key candidates are compared; it never leaves the process.
    compare: hmac::Key,
    /// The right token under that key.
    token: hmac::Tag,
    /// The right cookie under that key.
    derived: hmac::Tag,
    /// The value that the cookie gets.
    cookie: Secret,
}

/// What a request's token comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenCheck {
    /// No token is configured: everybody may.
    Open,
    /// The right one.
    Granted(Carrier),
    /// None at all.
    Missing,
    /// A wrong one.
    Wrong,
}

impl TokenCheck {
    /// Whether the request may go on.
    pub(crate) fn is_granted(self) -> bool {
        matches!(self, Self::Open | Self::Granted(_))
    }

    /// Whether the right token came in the Authorization header.
    pub(crate) fn is_bearer(self) -> bool {
        self == Self::Granted(Carrier::Bearer)
    }
}

/// Where a token was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The cookie.
    Cookie,
    /// The Authorization header.
    Bearer,
    /// The address.
    Query,
}

impl TokenAuth {
    /// The check for this token; open to everybody if the token is empty or of blanks only.
    pub(crate) fn new(token: &Secret) -> Self {
        if token.is_empty() {
            return Self(None);
        }
        // A header value cannot carry blanks at its ends, so they do not belong to the token.
        let token = token.expose().trim().as_bytes();
        let derivation = hmac::Key::new(hmac::HMAC_SHA256, token);
        let cookie = hex(hmac::sign(&derivation, b"aethon dashboard cookie 1").as_ref());
        let compare = match hmac::Key::generate(hmac::HMAC_SHA256, &ring::rand::SystemRandom::new()) {
            Ok(key) => key,
            // Without a random source the comparison still does not depend on where two tokens differ.
            Err(_) => hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&derivation, b"compare").as_ref()),
        };
        Self(Some(Keys {
            token: hmac::sign(&compare, token),
            derived: hmac::sign(&compare, cookie.as_bytes()),
            compare,
            cookie: Secret::new(cookie),
        }))
    }

    /// Judges a request by its headers and its query.
    pub(crate) fn check(&self, headers: &HeaderMap, query: Option<&str>) -> TokenCheck {
        let Some(keys) = &self.0 else { return TokenCheck::Open };
        let Some(bearer) = bearer(headers) else { return TokenCheck::Wrong };
        let judge =
            |is_right: bool, carrier| if is_right { TokenCheck::Granted(carrier) } else { TokenCheck::Wrong };
        if let Some(cookie) = cookie(headers) {
            judge(keys.is_cookie(cookie), Carrier::Cookie)
        } else if let Some(bearer) = bearer {
            judge(keys.is_token(bearer), Carrier::Bearer)
        } else if let Some(token) = query.and_then(query_token) {
            judge(keys.is_query_token(token), Carrier::Query)
        } else {
            TokenCheck::Missing
        }
    }

    /// Like [`TokenAuth::check`], for opening the dashboard: a right token in the address is enough, so that a stale cookie
    /// does not lock the owner out.
    pub(crate) fn check_entrance(&self, headers: &HeaderMap, query: Option<&str>) -> TokenCheck {
        if let Some(keys) = &self.0
            && bearer(headers).is_some()
            && query.and_then(query_token).is_some_and(|token| keys.is_query_token(token))
        {
            return TokenCheck::Granted(Carrier::Query);
        }
        self.check(headers, query)
    }

    /// The `Set-Cookie` that signs a browser in.
    pub(crate) fn sign_in_cookie(&self, is_https: bool) -> Option<HeaderValue> {
        let keys = self.0.as_ref()?;
        let secure = if is_https { "; Secure" } else { "" };
        let value = format!("{COOKIE_NAME}={}; {ATTRIBUTES}{secure}", keys.cookie.expose());
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The `Set-Cookie` that signs a browser out.
    pub(crate) fn sign_out_cookie(is_https: bool) -> HeaderValue {
        if is_https {
            HeaderValue::from_static("aethon_dash=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure")
        } else {
            HeaderValue::from_static("aethon_dash=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
        }
    }
}

impl Keys {
    fn is_token(&self, candidate: &[u8]) -> bool {
        hmac::verify(&self.compare, candidate, self.token.as_ref()).is_ok()
    }

    fn is_cookie(&self, candidate: &[u8]) -> bool {
        // Both are looked at always, so that the time does not tell which one it was.
        let is_derived = hmac::verify(&self.compare, candidate, self.derived.as_ref()).is_ok();
        self.is_token(candidate) | is_derived
    }

    /// A `+` in an address may be meant as itself or as a blank.
    fn is_query_token(&self, raw: &str) -> bool {
        let literal: Vec<u8> = percent_decode_str(raw).collect();
        self.is_token(&literal)
            || (raw.contains('+')
                && self.is_token(&percent_decode_str(&raw.replace('+', " ")).collect::<Vec<u8>>()))
    }
}

/// The first cookie of our name that is not empty.
fn cookie(headers: &HeaderMap) -> Option<&[u8]> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|header| header.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| pair.trim_ascii().strip_prefix(COOKIE_NAME.as_bytes())?.strip_prefix(b"="))
        .map(|value| value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
        .find(|value| !value.trim_ascii().is_empty())
}

/// The bearer token, if there is one and it is not empty. `None` when the header is doubled, which is never honest.
fn bearer(headers: &HeaderMap) -> Option<Option<&[u8]>> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let first = all.next();
    if all.next().is_some() {
        return None;
    }
    let token = first.and_then(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked(6)?;
        let token = token.strip_prefix(b" ")?.trim_ascii();
        (scheme.eq_ignore_ascii_case(b"bearer") && !token.is_empty()).then_some(token)
    });
    Some(token)
}

/// The first `token` of a query that is not empty, still encoded.
fn query_token(query: &str) -> Option<&str> {
    query.split('&').filter_map(|pair| pair.strip_prefix("token=")).find(|value| !value.is_empty())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use http::header::HeaderName;

    use super::*;

    const TOKEN: &str = "correct horse+battery";

    fn headers(pairs: &[(HeaderName, &[u8])]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value).unwrap()));
        let mut headers = HeaderMap::new();
        pairs.for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    fn check(pairs: &[(HeaderName, &[u8])], query: &str, expected: TokenCheck) {
        let found = TokenAuth::new(&Secret::new(TOKEN)).check(&headers(pairs), Some(query));
        assert_eq!(found, expected, "{pairs:?} ?{query}");
    }

    #[test]
    fn the_first_carrier_that_is_not_empty_decides() {
        use Carrier::{Bearer, Cookie, Query};
        use TokenCheck::{Granted, Missing, Wrong};
        let right_cookie: &[u8] = b"a=1; aethon_dash=correct horse+battery; b=2";
        let right_bearer: &[u8] = b"Bearer correct horse+battery";
        check(&[], "", Missing);
        check(&[], "token=", Missing);
        check(&[], "x=1&token=correct%20horse%2Bbattery", Granted(Query));
        check(&[], "token=correct%20horse+battery", Granted(Query));
        check(&[], "token=&token=correct%20horse%2Bbattery", Granted(Query));
        check(&[], "Token=correct%20horse%2Bbattery", Missing);
        check(&[], "token=wrong", Wrong);
        check(&[(AUTHORIZATION, right_bearer)], "token=wrong", Granted(Bearer));
        check(&[(AUTHORIZATION, b"bEARER  correct horse+battery")], "", Granted(Bearer));
        check(&[(AUTHORIZATION, b"Bearer wrong")], "token=correct%20horse%2Bbattery", Wrong);
        check(&[(AUTHORIZATION, b"Basic YTpi")], "token=correct%20horse%2Bbattery", Granted(Query));
        check(&[(AUTHORIZATION, b"Bearer ")], "", Missing);
        check(&[(AUTHORIZATION, b"Bearer\xc3\xa9")], "", Missing);
        check(&[(COOKIE, right_cookie), (AUTHORIZATION, b"Bearer wrong")], "", Granted(Cookie));
        check(&[(COOKIE, b"aethon_dash=wrong"), (AUTHORIZATION, right_bearer)], "", Wrong);
        check(&[(COOKIE, b"aethon_dash="), (AUTHORIZATION, right_bearer)], "", Granted(Bearer));
        check(&[(COOKIE, b"xaethon_dash=wrong"), (AUTHORIZATION, right_bearer)], "", Granted(Bearer));
        check(&[(COOKIE, b"x=1"), (COOKIE, right_cookie)], "", Granted(Cookie));
        check(&[(COOKIE, b"aethon_dash=\"correct horse+battery\"")], "", Granted(Cookie));
        check(&[(AUTHORIZATION, right_bearer), (AUTHORIZATION, right_bearer)], "", Wrong);
        check(&[(COOKIE, right_cookie), (AUTHORIZATION, b"x"), (AUTHORIZATION, b"y")], "", Wrong);
    }

    #[test]
    fn any_bytes_of_any_length_are_only_wrong() {
        for bytes in [b"\xff\xfe".as_slice(), "\u{fc}ml".as_bytes(), &[b'x'; 20_000], b"correct", b"C"] {
            check(&[(AUTHORIZATION, &[b"Bearer ", bytes].concat())], "", TokenCheck::Wrong);
            check(&[(COOKIE, &[b"aethon_dash=", bytes].concat())], "", TokenCheck::Wrong);
        }
        check(&[], "token=%ff%fe", TokenCheck::Wrong);
        check(&[], "token=%", TokenCheck::Wrong);
    }

    #[test]
    fn without_a_token_everything_is_open() {
        for token in ["", "   ", "\t\n"] {
            let gate = TokenAuth::new(&Secret::new(token));
            assert_eq!(gate.check(&HeaderMap::new(), Some("token=")), TokenCheck::Open);
            assert!(gate.sign_in_cookie(false).is_none());
        }
    }

    #[test]
    fn the_cookie_holds_a_derived_value_that_no_other_carrier_takes() {
        let gate = TokenAuth::new(&Secret::new(TOKEN));
        let cookie = gate.sign_in_cookie(false).expect("closed");
        let cookie = cookie.to_str().expect("plain");
        let (pair, attributes) = cookie.split_once("; ").expect("has attributes");
        assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/");
        assert!(!cookie.contains("horse"));
        assert_eq!(
            gate.check(&headers(&[(COOKIE, pair.as_bytes())]), None),
            TokenCheck::Granted(Carrier::Cookie)
        );

        let value = pair.strip_prefix("aethon_dash=").expect("our name");
        let bearer = format!("Bearer {value}");
        assert_eq!(gate.check(&headers(&[(AUTHORIZATION, bearer.as_bytes())]), None), TokenCheck::Wrong);
        assert_eq!(gate.check(&HeaderMap::new(), Some(&format!("token={value}"))), TokenCheck::Wrong);

        let other = TokenAuth::new(&Secret::new("another"));
        assert_eq!(other.check(&headers(&[(COOKIE, pair.as_bytes())]), None), TokenCheck::Wrong);
        let again = TokenAuth::new(&Secret::new(TOKEN));
        assert!(again.check(&headers(&[(COOKIE, pair.as_bytes())]), None).is_granted(), "survives a restart");
        assert!(gate.sign_in_cookie(true).expect("closed").to_str().expect("plain").ends_with("; Secure"));
    }

    #[test]
    fn at_the_entrance_a_right_address_beats_a_stale_cookie() {
        let gate = TokenAuth::new(&Secret::new("right"));
        let stale = headers(&[(COOKIE, b"aethon_dash=stale")]);
        assert_eq!(gate.check_entrance(&stale, Some("token=right")), TokenCheck::Granted(Carrier::Query));
        assert_eq!(gate.check_entrance(&stale, Some("token=wrong")), TokenCheck::Wrong);
        assert_eq!(gate.check_entrance(&stale, None), TokenCheck::Wrong);
        let signed_in = headers(&[(COOKIE, b"aethon_dash=right")]);
        assert_eq!(gate.check_entrance(&signed_in, Some("token=old")), TokenCheck::Granted(Carrier::Cookie));
        assert_eq!(gate.check(&stale, Some("token=right")), TokenCheck::Wrong);
    }
}
