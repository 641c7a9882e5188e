//! The places where a request may carry the token. Values are returned undecoded.

use http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName};

/// Name of the sign-in cookie.
pub(super) const COOKIE_NAME: &str = "aethon_dash";

/// The header that carries the token once more, to confirm a change.
pub(super) const CONFIRM: HeaderName = HeaderName::from_static("x-aethon-confirm");

/// Returns the non-empty cookies with our name, in their order. There may be several: another path or domain of the same
/// machine may have set one, and a browser sends that first.
pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|header| header.as_bytes().split(|&byte| byte == b';'))
        .filter_map(|pair| pair.trim_ascii().strip_prefix(COOKIE_NAME.as_bytes())?.strip_prefix(b"="))
        .map(|value| value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
        .filter(|value| !value.trim_ascii().is_empty())
}

/// Returns the bearer token if there is one and it is not empty. Returns `None` if the header is repeated, which no
/// honest client does.
pub(super) fn bearer(headers: &HeaderMap) -> Option<Option<&[u8]>> {
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

/// The header in which a sign-in form shows the token. It does not use `Authorization`, which a proxy in front may want for its
/// own `Basic` sign-in: a browser sends one such header only.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-aethon-token");

/// Returns the token of that header if it is not empty, which may be percent-encoded. A repeated header counts as missing.
pub(super) fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let mut all = headers.get_all(TOKEN).iter();
    let first = all.next()?.as_bytes().trim_ascii();
    (all.next().is_none() && !first.is_empty()).then_some(first)
}

/// The header in which a device shows a code that counts once.
pub(super) const CODE: HeaderName = HeaderName::from_static("x-aethon-code");

/// Returns the first non-empty `token` in a query, still encoded.
pub(super) fn query_token(query: &str) -> Option<&str> {
    query.split('&').filter_map(|pair| pair.strip_prefix("token=")).find(|value| !value.is_empty())
}
