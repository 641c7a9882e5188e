//! The access token: where a request may carry it, and whether it is right.
//!
//! The candidate is the first of cookie (of several, one that names a sign-in), `Authorization: Bearer`, `X-Aethon-Token` and
//! `?token=` that is present and not empty.
//! Candidates are compared in constant time by their HMAC under a per-process key, so the comparison reveals neither
//! length nor content. The cookie that the server sets does not hold the token. It names a sign-in (`sign_in`), which
//! ends when it expires, when the token changes, or when it is revoked.

mod carriers;
mod codes;
mod register;
mod sign_in;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::secret::Secret;
use http::header::{HeaderMap, HeaderValue};
use percent_encoding::{percent_decode, percent_decode_str};
use ring::hmac;

pub(crate) use carriers::TOKEN;
pub(crate) use register::SignInRecord;
pub(crate) use sign_in::{SignIn, SignIns};

use crate::base_path::BasePath;
use carriers::{CODE, CONFIRM, COOKIE_NAME, bearer, cookies, query_token, shown};

const ATTRIBUTES: &str = "HttpOnly; SameSite=Strict";

/// Knows the token and checks candidates against it.
pub(crate) struct TokenAuth {
    keys: Option<Keys>,
    sign_ins: Arc<SignIns>,
    /// The path for which a browser keeps the cookie.
    cookie_path: String,
}

struct Keys {
    /// The key under which candidates are compared. It never leaves the process.
    compare: hmac::Key,
    /// The right token's HMAC under that key.
    token: hmac::Tag,
    /// Signs the cookies of sign-ins under this token.
    cookies: hmac::Key,
}

/// The result of checking a request's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenCheck {
    /// No token is configured, so everyone is admitted.
    Open,
    /// The right token.
    Granted(Carrier),
    /// No token.
    Missing,
    /// A wrong token.
    Wrong,
}

impl TokenCheck {
    /// Returns whether the request is admitted.
    pub(crate) fn is_granted(self) -> bool {
        matches!(self, Self::Open | Self::Granted(_))
    }

    /// Returns whether the right token came in the Authorization header.
    pub(crate) fn is_bearer(self) -> bool {
        self == Self::Granted(Carrier::Bearer)
    }
}

/// Whether a request confirms its change by sending the token once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// There is no token that could be shown.
    Impossible,
    /// It does not.
    Missing,
    /// It shows a wrong one.
    Wrong,
    /// It shows the right one.
    Given,
}

/// Where a token was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The cookie.
    Cookie,
    /// The Authorization header.
    Bearer,
    /// The query string.
    Query,
}

impl TokenAuth {
    /// Creates the check for this token. An empty or blank token admits everyone.
    pub(crate) fn new(token: &Secret, sign_ins: Arc<SignIns>) -> Self {
        let cookie_path = "/".to_owned();
        if token.is_empty() {
            return Self { keys: None, sign_ins, cookie_path };
        }
        // Header values cannot begin or end with whitespace, so it is trimmed from the token.
        let token = token.expose().trim().as_bytes();
        let compare = sign_ins.key(b"compare", b"");
        let keys =
            Keys { token: hmac::sign(&compare, token), cookies: sign_ins.key(b"cookie", token), compare };
        Self { keys: Some(keys), sign_ins, cookie_path }
    }

    /// The same, with cookies for this path only, so that what else the host offers does not receive them.
    pub(crate) fn below(self, base: &BasePath) -> Self {
        Self { cookie_path: base.cookie_path().to_owned(), ..self }
    }

    /// Returns whether no token is configured.
    pub(crate) fn is_open(&self) -> bool {
        self.keys.is_none()
    }

    /// Checks a request by its headers and query.
    pub(crate) fn check(&self, headers: &HeaderMap, query: Option<&str>) -> TokenCheck {
        let Some(keys) = &self.keys else { return TokenCheck::Open };
        let Some(bearer) = bearer(headers) else { return TokenCheck::Wrong };
        let judge =
            |is_right: bool, carrier| if is_right { TokenCheck::Granted(carrier) } else { TokenCheck::Wrong };
        if let Some(cookie) = self.cookie(keys, headers) {
            // Both checks always run, so that timing does not reveal which one matched.
            let is_signed_in = self.sign_ins.named(&keys.cookies, cookie).is_some();
            judge(keys.is_token(cookie) | is_signed_in, Carrier::Cookie)
        } else if let Some(bearer) = bearer {
            judge(keys.is_token(bearer), Carrier::Bearer)
        } else if let Some(token) = shown(headers) {
            judge(keys.is_encoded_token(token), Carrier::Bearer)
        } else if let Some(token) = query.and_then(query_token) {
            judge(keys.is_query_token(token), Carrier::Query)
        } else {
            TokenCheck::Missing
        }
    }

    /// Returns the cookie that counts: the first that names a sign-in, or else the first. A page of another path or domain of
    /// this machine can set one that we cannot remove, and it must not lock the owner out. The token itself counts in the
    /// first only, so that a request is one guess.
    fn cookie<'h>(&self, keys: &Keys, headers: &'h HeaderMap) -> Option<&'h [u8]> {
        let signs_in = |one: &&[u8]| self.sign_ins.named(&keys.cookies, one).is_some();
        cookies(headers).find(signs_in).or_else(|| cookies(headers).next())
    }

    /// Like [`TokenAuth::check`], but for opening the dashboard: a right token in the query suffices, so that a stale
    /// cookie does not lock the owner out.
    ///
    /// Where the request shows a code, only that counts: `is_code_right` is what [`TokenAuth::redeem`] said of it.
    pub(crate) fn check_entrance(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
        is_code_right: Option<bool>,
    ) -> TokenCheck {
        if self.is_code_shown(headers) {
            let is_right = is_code_right == Some(true);
            return if is_right { TokenCheck::Granted(Carrier::Bearer) } else { TokenCheck::Wrong };
        }
        if let Some(keys) = &self.keys
            && bearer(headers).is_some()
            && query.and_then(query_token).is_some_and(|token| keys.is_query_token(token))
        {
            return TokenCheck::Granted(Carrier::Query);
        }
        self.check(headers, query)
    }

    /// Returns whether the request shows a code for one sign-in.
    pub(crate) fn is_code_shown(&self, headers: &HeaderMap) -> bool {
        self.keys.is_some() && headers.contains_key(CODE)
    }

    /// Returns whether the code that a request shows counts. Afterwards it does not.
    pub(crate) async fn redeem(&self, headers: &HeaderMap) -> bool {
        match (&self.keys, headers.get(CODE)) {
            (Some(keys), Some(code)) => self.sign_ins.redeem(&keys.cookies, code.as_bytes()).await,
            _ => false,
        }
    }

    /// Returns whether the request could be a guess: it carries a credential, but no valid sign-in cookie, or sends a
    /// token to confirm a change. A sign-in cookie cannot be guessed, because it is signed with a key that only this
    /// server has. A cookie that holds the token itself counts as a guess like any other.
    pub(crate) fn may_be_guess(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let Some(keys) = &self.keys else { return false };
        if headers.contains_key(CONFIRM) || headers.contains_key(CODE) {
            return true;
        }
        match (self.cookie(keys, headers), bearer(headers)) {
            (Some(cookie), _) if self.sign_ins.named(&keys.cookies, cookie).is_some() => false,
            (Some(_), _) | (None, None | Some(Some(_))) => true,
            (None, Some(None)) => shown(headers).is_some() || query.and_then(query_token).is_some(),
        }
    }

    /// Checks the header in which a request shows the token once more. The value may be percent-encoded, because a page
    /// cannot send every character in a header.
    pub(crate) fn confirmation(&self, headers: &HeaderMap) -> Confirmation {
        let Some(keys) = &self.keys else { return Confirmation::Impossible };
        let mut all = headers.get_all(CONFIRM).iter();
        match (all.next().map(|value| value.as_bytes().trim_ascii()), all.next()) {
            (None | Some([]), _) => Confirmation::Missing,
            (Some(shown), None) if keys.is_encoded_token(shown) => Confirmation::Given,
            _ => Confirmation::Wrong,
        }
    }

    /// Returns the sign-in under which a request with this check result was admitted.
    pub(crate) fn sign_in(&self, check: TokenCheck, headers: &HeaderMap) -> SignIn {
        let Some(keys) = &self.keys else { return SignIn::Open };
        let token = keys.token;
        if check != TokenCheck::Granted(Carrier::Cookie) {
            return SignIn::Token(token);
        }
        match self.cookie(keys, headers).and_then(|cookie| self.sign_ins.named(&keys.cookies, cookie)) {
            Some(session) => SignIn::Session(session, token),
            None => SignIn::TokenCookie(self.sign_ins.token_cookies(), token),
        }
    }

    /// Returns every sign-in that the cookies of a request name. There are several if `server.base_path` has changed, because
    /// the browser keeps the cookie of each path.
    pub(crate) fn named_sign_ins(&self, headers: &HeaderMap) -> Vec<SignIn> {
        let Some(keys) = &self.keys else { return Vec::new() };
        let named = cookies(headers).filter_map(|cookie| self.sign_ins.named(&keys.cookies, cookie));
        named.map(|session| SignIn::Session(session, keys.token)).collect()
    }

    /// Returns the name under which a device is noted that asked for notifications: it is to receive them only as long as it
    /// would be admitted.
    pub(crate) fn lasting_name(&self, sign_in: &SignIn) -> String {
        match (sign_in, &self.keys) {
            (SignIn::Session(session, _), _) => format!("session {}", session.name),
            (SignIn::Open, _) | (_, None) => "open".to_owned(),
            (SignIn::Token(_) | SignIn::TokenCookie(..), Some(keys)) => {
                format!("token {}", sign_in::token_mark(&keys.cookies))
            }
        }
    }

    /// Returns whether the sign-in of that name lasts.
    pub(crate) fn name_lasts(&self, name: &str) -> bool {
        let Some(keys) = &self.keys else { return name == "open" };
        match name.split_once(' ') {
            Some(("session", name)) => self.sign_ins().iter().any(|begun| begun.name == name),
            Some(("token", mark)) => mark == sign_in::token_mark(&keys.cookies),
            _ => false,
        }
    }

    /// Returns whether whatever was admitted under this sign-in is still allowed.
    pub(crate) fn stands(&self, sign_in: &SignIn) -> bool {
        let is_same =
            |token: &hmac::Tag| self.keys.as_ref().is_none_or(|keys| keys.token.as_ref() == token.as_ref());
        match sign_in {
            SignIn::Open => self.keys.is_none(),
            SignIn::Token(token) => is_same(token),
            SignIn::TokenCookie(count, token) => is_same(token) && *count == self.sign_ins.token_cookies(),
            SignIn::Session(session, token) => is_same(token) && self.sign_ins.stands(session),
        }
    }

    /// Starts a new sign-in for a browser and returns its `Set-Cookie`.
    pub(crate) async fn sign_in_cookie(&self, address: IpAddr, is_https: bool) -> Option<HeaderValue> {
        let keys = self.keys.as_ref()?;
        let secure = if is_https { "; Secure" } else { "" };
        let cookie = self.sign_ins.begin(&keys.cookies, address).await;
        // With its age, or a browser that is closed forgets it.
        let age = self.sign_ins.lifetime();
        let path = &self.cookie_path;
        let value =
            format!("{COOKIE_NAME}={}; Max-Age={age}; {ATTRIBUTES}; Path={path}{secure}", cookie.expose());
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Makes a code with which another device signs in once, and returns it with the second at which it ends. `None` if no token
    /// is configured, or if the system has no randomness.
    pub(crate) async fn issue_code(&self) -> Result<Option<(Secret, i64)>> {
        match &self.keys {
            Some(keys) => self.sign_ins.issue_code(&keys.cookies).await,
            None => Ok(None),
        }
    }

    /// Returns the active sign-ins, newest first.
    pub(crate) fn sign_ins(&self) -> Vec<SignInRecord> {
        self.keys.as_ref().map(|keys| self.sign_ins.active(&keys.cookies)).unwrap_or_default()
    }

    /// Returns whether the request carries a useless sign-in cookie: for another token, of a sign-in that has ended, or
    /// in a form that this version does not write. The browser would keep sending it before any right token.
    pub(crate) fn has_stale_cookie(&self, headers: &HeaderMap) -> bool {
        let Some(keys) = &self.keys else { return false };
        self.cookie(keys, headers).is_some_and(|cookie| {
            !(keys.is_token(cookie) | self.sign_ins.named(&keys.cookies, cookie).is_some())
        })
    }

    /// Returns the `Set-Cookie` that signs a browser out.
    pub(crate) fn sign_out_cookie(&self, is_https: bool) -> HeaderValue {
        let secure = if is_https { "; Secure" } else { "" };
        let value = format!("{COOKIE_NAME}=; {ATTRIBUTES}; Path={}; Max-Age=0{secure}", self.cookie_path);
        HeaderValue::try_from(value)
            .unwrap_or(HeaderValue::from_static("aethon_dash=; HttpOnly; Path=/; Max-Age=0"))
    }
}

impl Keys {
    fn is_token(&self, candidate: &[u8]) -> bool {
        hmac::verify(&self.compare, candidate, self.token.as_ref()).is_ok()
    }

    /// Checks a token that may be percent-encoded, because a page cannot send every character in a header.
    fn is_encoded_token(&self, shown: &[u8]) -> bool {
        self.is_token(shown) | self.is_token(&percent_decode(shown).collect::<Vec<u8>>())
    }

    /// Checks a token of a query. A `+` may be a literal plus or an encoded space, so both readings are tried.
    fn is_query_token(&self, raw: &str) -> bool {
        let literal: Vec<u8> = percent_decode_str(raw).collect();
        self.is_token(&literal)
            || (raw.contains('+')
                && self.is_token(&percent_decode_str(&raw.replace('+', " ")).collect::<Vec<u8>>()))
    }
}
