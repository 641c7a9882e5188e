//! Checks the Host of a request, against DNS rebinding: a page on a foreign name that resolves to this machine must
//! not reach anything that acts without a credential.
//!
//! The rule (`docs/contract/http.md`): on a loopback bind, whatever could act without a credential answers only to
//! loopback names and `channels.webchat.allowed_hosts`. Everything else answers to any well-formed Host, unless that
//! list is not empty. This module also decides whether a bind is loopback, for the check that refuses to start.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use http::header::{HOST, HeaderMap};
use http::{Method, StatusCode, Uri};

use crate::error::Problem;
use crate::options::Options;

/// Returns whether this host name or address only ever means this machine. An IPv4-mapped IPv6 address counts as its
/// IPv4 address. A name is loopback only if all addresses it resolves to are.
pub async fn is_loopback_host(host: &str) -> io::Result<bool> {
    let host = unbracketed(host);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(address.to_canonical().is_loopback());
    }
    let mut addresses = tokio::net::lookup_host((host, 0)).await?.peekable();
    Ok(addresses.peek().is_some() && addresses.all(|address| address.ip().to_canonical().is_loopback()))
}

/// Strips the brackets of an IPv6 address.
pub(crate) fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// A host and optional port, as in a Host header, an Origin or an absolute-form target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Authority<'a> {
    /// Without brackets and trailing dot; case is preserved.
    host: &'a str,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Parses `name`, `name:port`, `1.2.3.4:port` or `[v6]:port`. Returns `None` if malformed.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(inner) => {
                let (address, rest) = inner.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (address, rest)
            }
            None => {
                let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
                let name = name.strip_suffix('.').unwrap_or(name);
                (is_name(name).then_some(name)?, rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            Some("") => None,
            Some(port) if port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(port.parse().ok()?)
            }
            None if rest.is_empty() => None,
            _ => return None,
        };
        Some(Self { host, port })
    }

    /// Returns the port, or this default of the scheme.
    pub(crate) fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }

    /// Returns whether both name the same host, ignoring the port.
    pub(crate) fn is_same_host(&self, other: &Authority<'_>) -> bool {
        self.host.eq_ignore_ascii_case(other.host)
            || self.address().is_some_and(|address| Some(address) == other.address())
    }

    /// Returns whether it is a loopback name or address.
    fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }

    fn address(&self) -> Option<IpAddr> {
        self.host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=253).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
}

/// Which hosts are served.
#[derive(Debug)]
pub(crate) struct HostRules {
    allowed: Vec<String>,
    is_loopback: bool,
    has_token: bool,
    has_secret: bool,
}

impl HostRules {
    /// Creates the rules for these settings on this kind of address.
    pub(crate) fn new(options: &Options, is_loopback: bool) -> Self {
        Self {
            allowed: options.allowed_hosts.iter().map(|host| host.trim().to_owned()).collect(),
            is_loopback,
            has_token: !options.token.is_empty(),
            has_secret: !options.webhooks.secret.is_empty(),
        }
    }

    /// Returns the authority of a request. Returns 400 if it is missing, repeated or malformed, and 421 if this
    /// service does not answer to it.
    pub(crate) fn check<'r>(&self, uri: &'r Uri, headers: &'r HeaderMap) -> Result<Authority<'r>, Problem> {
        let authority = authority(uri, headers)?;
        let (acts_alone, is_exempt) = self.exposure(uri.path());
        let is_served = !acts_alone && (self.allowed.is_empty() || is_exempt);
        if is_served || authority.is_loopback() || self.allows(&authority) {
            Ok(authority)
        } else {
            Err(misdirected())
        }
    }

    /// Returns two flags for a path: whether a request to it could act without a credential on an address where that
    /// matters, and whether it is exempt from all rules.
    fn exposure(&self, path: &str) -> (bool, bool) {
        if path == "/health" {
            // Probes connect by IP address, and the response tells a stranger nothing useful.
            (false, true)
        } else if !self.is_loopback {
            (false, false)
        } else {
            (!self.has_token || (!self.has_secret && path.starts_with("/webhook/")), false)
        }
    }

    fn allows(&self, authority: &Authority<'_>) -> bool {
        self.allowed
            .iter()
            .filter_map(|host| Authority::parse(host).or_else(|| bare_v6(host)))
            .any(|allowed| allowed.is_same_host(authority))
    }
}

/// Reads an IPv6 address without brackets, as people write it in a list of names.
fn bare_v6(host: &str) -> Option<Authority<'_>> {
    host.parse::<Ipv6Addr>().is_ok().then_some(Authority { host, port: None })
}

/// Returns the authority of a request, whatever it is.
pub(crate) fn authority<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Result<Authority<'r>, Problem> {
    let mut hosts = headers.get_all(HOST).iter();
    let header = hosts.next().ok_or_else(|| malformed("the Host header is missing"))?;
    if hosts.next().is_some() {
        return Err(malformed("there is more than one Host header"));
    }
    let header = header.to_str().ok().and_then(Authority::parse);
    let header = header.ok_or_else(|| malformed("the Host header is malformed"))?;
    match uri.authority() {
        Some(target) => Authority::parse(target.as_str()).ok_or_else(|| malformed("the target is malformed")),
        None => Ok(header),
    }
}

/// Refuses a path without its slash, `GET health HTTP/1.1`, which hyper reads as the name of a host. Only `CONNECT` names one.
pub(crate) fn check_target(method: &Method, uri: &Uri) -> Result<(), Problem> {
    match uri.scheme().is_none() && uri.authority().is_some() && *method != Method::CONNECT {
        true => Err(malformed("the target must begin with a slash")),
        false => Ok(()),
    }
}

fn malformed(detail: &'static str) -> Problem {
    Problem::bad_request("bad_host", detail)
}

fn misdirected() -> Problem {
    Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "host_not_allowed",
        "this service does not answer under that Host; add the name to `channels.webchat.allowed_hosts`, or set \
         `dashboard.auth_token` (and `webhook.secret`) so that nothing acts without a credential",
    )
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;
    use http::header::HeaderValue;

    use super::*;

    fn status(rules: &HostRules, target: &str, hosts: &[&str]) -> u16 {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        rules
            .check(&target.parse().unwrap(), &headers)
            .map_or_else(|problem| problem.status().as_u16(), |_| 200)
    }

    fn rules(token: &str, secret: &str, allowed: &[&str], is_loopback: bool) -> HostRules {
        let mut options = Options { token: Secret::new(token), ..Options::default() };
        options.webhooks.secret = Secret::new(secret);
        options.allowed_hosts = allowed.iter().map(|&host| host.into()).collect();
        HostRules::new(&options, is_loopback)
    }

    #[test]
    fn without_a_token_only_loopback_hosts_are_served() {
        let open = rules(" ", "s", &[], true);
        for host in [
            "localhost",
            "LOCALHOST:18790",
            "localhost.",
            "localhost.:80",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:18790",
            "[::ffff:127.0.0.1]",
            "[0:0:0:0:0:0:0:1]",
            "127.0.0.1:",
        ] {
            assert_eq!(status(&open, "/", &[host]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evillocalhost",
            "0.0.0.0",
            "[::]",
            "192.168.0.2",
            "2130706433",
            "0x7f.1",
            "127.1",
        ] {
            assert_eq!(status(&open, "/", &[host]), 421, "{host}");
            assert_eq!(status(&open, "/webhook/trigger", &[host]), 421, "{host}");
            assert_eq!(status(&open, "/health", &[host]), 200, "{host}");
            assert_eq!(status(&open, "/health/", &[host]), 421, "{host}");
        }
    }

    #[test]
    fn invalid_hosts_are_malformed_under_all_rules() {
        for rules in [rules("", "", &[], true), rules("t", "s", &[], false)] {
            for host in [
                "",
                ":80",
                "a b",
                "user@localhost",
                "localhost:99999",
                "localhost:1:2",
                "localhost:x",
                "[::1",
                "[::1]x",
                "[fe80::1%25eth0]",
                "::1",
                "[v1.a]",
                "a/b",
                "a..b",
                ".",
                "localhost..",
                "localhost:-1",
                "l\u{e9}",
                "local%68ost",
                "a,b",
            ] {
                assert_eq!(status(&rules, "/health", &[host]), 400, "{host:?}");
            }
            assert_eq!(status(&rules, "/health", &[]), 400);
            assert_eq!(status(&rules, "/health", &["localhost", "localhost"]), 400);
            assert_eq!(status(&rules, "http://localhost/health", &[]), 400);
        }
    }

    #[test]
    fn with_credentials_any_host_is_served_unless_there_is_a_list() {
        let closed = rules("token", "secret", &[], true);
        assert_eq!(status(&closed, "/api/status", &["home.example"]), 200);
        assert_eq!(status(&closed, "/webhook/trigger", &["home.example"]), 200);

        let no_secret = rules("token", "", &[], true);
        assert_eq!(status(&no_secret, "/api/status", &["home.example"]), 200);
        assert_eq!(status(&no_secret, "/webhook/trigger", &["home.example"]), 421);

        let network = rules("", "", &[], false);
        assert_eq!(status(&network, "/", &["home.example"]), 200);

        let listed = rules("token", "secret", &["Home.Example", "fd00::1"], false);
        for (host, expected) in [
            ("home.example:8443", 200),
            ("HOME.example.", 200),
            ("localhost", 200),
            ("[fd00::1]:1", 200),
            ("other.example", 421),
            ("home.example.evil.example", 421),
        ] {
            assert_eq!(status(&listed, "/api/status", &[host]), expected, "{host}");
            assert_eq!(status(&listed, "/health", &[host]), 200, "{host}");
        }
    }

    #[test]
    fn a_listed_host_is_served_without_a_token() {
        let listed = rules("", "", &["aethon.local"], true);
        assert_eq!(status(&listed, "/", &["aethon.local:18790"]), 200);
        assert_eq!(status(&listed, "/webhook/x", &["aethon.local"]), 200);
        assert_eq!(status(&listed, "/", &["other.local"]), 421);
    }

    #[test]
    fn the_authority_of_an_absolute_target_counts_first() {
        let open = rules("", "", &[], true);
        assert_eq!(status(&open, "http://evil.example/", &["localhost"]), 421);
        assert_eq!(status(&open, "http://localhost/", &["evil.example"]), 200);
        assert_eq!(status(&open, "http://user@localhost/", &["localhost"]), 400);
        let is_refused = |method, target: &str| check_target(&method, &target.parse().unwrap()).is_err();
        assert!(is_refused(Method::GET, "health"), "a path without its slash is no host");
        for target in ["/health", "*", "http://localhost/"] {
            assert!(!is_refused(Method::GET, target), "{target}");
        }
        assert!(!is_refused(Method::CONNECT, "localhost:80"));
    }

    #[tokio::test]
    async fn addresses_of_this_machine_are_loopback() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("[::1]", true),
            ("::ffff:127.0.0.1", true),
            ("localhost", true),
            ("0.0.0.0", false),
            ("::", false),
            ("192.168.1.4", false),
            ("::ffff:10.0.0.1", false),
        ] {
            assert_eq!(is_loopback_host(host).await.unwrap(), expected, "{host}");
        }
    }
}
