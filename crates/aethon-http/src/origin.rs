//! Checks the Origin of a request, against other web pages in the owner's browser.
//!
//! An Origin is our own if its host and port match the Host header, whatever the scheme (TLS may end at a proxy).
//! Those listed in `channels.webchat.allowed_origins` pass as well. `null`, look-alikes and repeated headers fail.

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, ORIGIN};

use crate::error::Problem;
use crate::host::Authority;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Which origins are allowed.
#[derive(Debug)]
pub(crate) struct OriginRules {
    allowed: Vec<String>,
}

impl OriginRules {
    /// Allows our own origin and these.
    pub(crate) fn new(allowed: &[String]) -> Self {
        Self {
            allowed: allowed.iter().map(|origin| origin.trim().trim_end_matches('/').to_owned()).collect(),
        }
    }

    /// Returns whether the request comes from an allowed page, or from no page at all.
    pub(crate) fn allows(&self, headers: &HeaderMap, host: &Authority<'_>) -> bool {
        self.kind(headers, host) != OriginKind::Foreign
    }

    /// Refuses a state-changing request from a page of another site.
    pub(crate) fn check_change(&self, headers: &HeaderMap, host: &Authority<'_>) -> Result<(), Problem> {
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        let is_cross_site = sites.any(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site"));
        match self.kind(headers, host) {
            // A listed origin is cross-site by nature.
            OriginKind::Listed => Ok(()),
            OriginKind::Own if !is_cross_site => Ok(()),
            OriginKind::Own | OriginKind::Foreign => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "foreign_origin",
                "a page of another origin may not do this; add it to `channels.webchat.allowed_origins` if it is yours",
            )),
        }
    }

    fn kind(&self, headers: &HeaderMap, host: &Authority<'_>) -> OriginKind {
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return OriginKind::Own,
            (Some(origin), None) => origin.to_str().ok().and_then(Origin::parse),
            (Some(_), Some(_)) => None,
        };
        match origin {
            Some(origin) if self.lists(&origin) => OriginKind::Listed,
            Some(origin) if origin.is_at(host) => OriginKind::Own,
            _ => OriginKind::Foreign,
        }
    }

    fn lists(&self, origin: &Origin<'_>) -> bool {
        self.allowed
            .iter()
            .filter_map(|allowed| Origin::parse(allowed))
            .any(|allowed| allowed.is_same(origin))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginKind {
    /// Our own, or not from a page at all.
    Own,
    /// One that the owner listed.
    Listed,
    /// Any other.
    Foreign,
}

#[derive(Debug)]
struct Origin<'a> {
    is_https: bool,
    authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_https = match scheme {
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ => return None,
        };
        Some(Self { is_https, authority: Authority::parse(rest)? })
    }

    fn default_port(&self) -> u16 {
        if self.is_https { 443 } else { 80 }
    }

    fn is_at(&self, host: &Authority<'_>) -> bool {
        let default = self.default_port();
        self.authority.is_same_host(host) && self.authority.port_or(default) == host.port_or(default)
    }

    fn is_same(&self, other: &Origin<'_>) -> bool {
        self.is_https == other.is_https && self.is_at(&other.authority)
    }
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    fn headers(origins: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        headers
    }

    #[test]
    fn our_own_origin_is_the_one_of_the_host_header() {
        let rules = OriginRules::new(&["https://home.example".into(), "http://other.example:8080/".into()]);
        let check = |origins: &[&str], host: &str, expected: bool| {
            let host = Authority::parse(host).expect("well formed");
            assert_eq!(rules.allows(&headers(origins), &host), expected, "{origins:?} at {host:?}");
        };
        check(&[], "127.0.0.1:18790", true);
        check(&["http://127.0.0.1:18790"], "127.0.0.1:18790", true);
        check(&["HTTP://LocalHost:18790"], "localhost:18790", true);
        check(&["http://[::1]:18790"], "[::1]:18790", true);
        check(&["https://a.example"], "a.example", true);
        check(&["https://a.example"], "a.example:443", true);
        check(&["http://a.example:80"], "a.example", true);
        check(&["https://home.example"], "127.0.0.1:18790", true);
        check(&["https://HOME.example:443"], "127.0.0.1:18790", true);
        check(&["http://other.example:8080"], "127.0.0.1:18790", true);

        check(&["null"], "127.0.0.1:18790", false);
        check(&[""], "127.0.0.1:18790", false);
        check(&["http://127.0.0.1:18791"], "127.0.0.1:18790", false);
        check(&["http://localhost:18790"], "127.0.0.1:18790", false);
        check(&["http://127.0.0.1:18790.evil.example"], "127.0.0.1:18790", false);
        check(&["http://a.example.evil.example"], "a.example", false);
        check(&["http://evil.example/?http://a.example"], "a.example", false);
        check(&["http://a.example@evil.example"], "a.example", false);
        check(&["http://a.example/"], "a.example", false);
        check(&["file://a.example"], "a.example", false);
        check(&["http://home.example"], "127.0.0.1:18790", false);
        check(&["https://home.example:444"], "127.0.0.1:18790", false);
        check(&["https://sub.home.example"], "127.0.0.1:18790", false);
        check(&["http://a.example", "http://a.example"], "a.example", false);
    }

    #[test]
    fn a_change_from_another_site_is_refused_even_without_an_origin() {
        let rules = OriginRules::new(&["https://home.example".into()]);
        let host = Authority::parse("127.0.0.1:18790").expect("well formed");
        let mut cross = headers(&[]);
        cross.insert(SEC_FETCH_SITE, HeaderValue::from_static("cross-site"));
        assert!(rules.check_change(&cross, &host).is_err());
        cross.insert(ORIGIN, HeaderValue::from_static("https://home.example"));
        assert!(rules.check_change(&cross, &host).is_ok());
        cross.insert(ORIGIN, HeaderValue::from_static("https://evil.example"));
        assert!(rules.check_change(&cross, &host).is_err());
        cross.insert(ORIGIN, HeaderValue::from_static("http://127.0.0.1:18790"));
        assert!(rules.check_change(&cross, &host).is_err());
        for site in ["same-origin", "same-site", "none"] {
            let mut fine = headers(&["http://127.0.0.1:18790"]);
            fine.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            assert!(rules.check_change(&fine, &host).is_ok(), "{site}");
        }
    }
}
