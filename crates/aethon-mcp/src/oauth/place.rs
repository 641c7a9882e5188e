//! URLs of authorization servers and of their metadata: how they are checked and built.

use aethon_core::egress::{self, HostRule};
use url::{Host, Url};

use crate::error::Error;

/// Maximum length of a URL.
const MAX_LENGTH: usize = 4096;

/// Parses a URL that secrets are sent to, or that says where to send them: https, or http on this machine.
pub(super) fn secure(text: &str, what: &str) -> Result<Url, Error> {
    let refuse = |why: &str| Error::new(format!("{what} {why}"));
    if text.len() > MAX_LENGTH {
        return Err(refuse("is too long for an address"));
    }
    let url = Url::parse(text).map_err(|_| refuse("is no address"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("holds a user name or password"));
    }
    if url.fragment().is_some() {
        return Err(refuse("has a fragment"));
    }
    match url.scheme() {
        "https" if url.host().is_some() => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(refuse("is plain http to another machine, where tokens could be read on the way")),
        _ => Err(refuse("is no https address")),
    }
}

/// Returns whether a URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(egress::is_loopback)
}

/// Returns whether a resource contains a URL: the same origin, and its path or one below it.
pub(super) fn contains(resource: &Url, url: &Url) -> bool {
    let root = resource.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(root);
    resource.origin() == url.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the hosts that requests about a sign-in may reach although their address is not public: the server itself, and where
/// that is an address of this machine or network, its neighbours on the same host.
pub fn hosts(server: &str) -> Vec<HostRule> {
    let Ok(url) = Url::parse(server) else { return Vec::new() };
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    let own = HostRule::exactly(host, port);
    if is_loopback(&url) {
        let here = ["localhost", "127.0.0.1", "[::1]", host];
        return here.iter().filter_map(|host| host.parse().ok()).chain([own]).collect();
    }
    // A name could be pointed anywhere, so no other port of it is open.
    let neighbours = if matches!(url.host(), Some(Host::Domain(_))) { None } else { host.parse().ok() };
    neighbours.into_iter().chain([own]).collect()
}

/// Returns a URL as it names a resource: without query and fragment, and without the slash of an empty path.
pub(super) fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    if url.path() == "/" { text.trim_end_matches('/').to_owned() } else { text }
}

/// Returns the addresses where something well-known of a URL may be: with its path inserted behind the name.
pub(super) fn well_known(base: &Url, name: &str) -> String {
    let path = base.path().trim_end_matches('/');
    format!("{}/.well-known/{name}{path}", base.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        let check = |text: &str, expected: bool| assert_eq!(secure(text, "x").is_ok(), expected, "{text}");
        check("https://a.example/token?x=y", true);
        check("http://127.0.0.1:81/token", true);
        check("http://localhost:81/token", true);
        check("http://[::1]/token", true);
        check("http://a.example/token", false);
        check("http://192.168.1.5/token", false);
        check("http://localhost.evil.example/", false);
        check("https://me:pw@a.example/", false);
        check("https://a.example/#x", false);
        check("javascript:alert(1)", false);
        check("file:///etc/passwd", false);
        check("data:text/html,x", false);
        check("//a.example/", false);
        check("", false);
        check(&format!("https://a.example/{}", "x".repeat(5000)), false);
    }

    #[test]
    fn a_resource_contains_what_is_below_it() {
        let check = |resource: &str, url: &str, expected: bool| {
            let parse = |text: &str| Url::parse(text).unwrap();
            assert_eq!(contains(&parse(resource), &parse(url)), expected, "{resource} {url}");
        };
        check("https://a.example", "https://a.example/mcp", true);
        check("https://a.example/", "https://a.example/mcp", true);
        check("https://a.example/mcp", "https://a.example/mcp", true);
        check("https://a.example/mcp/", "https://a.example/mcp", true);
        check("https://a.example/mcp", "https://a.example/mcp/x", true);
        check("https://a.example/mcp", "https://a.example/mcpx", false);
        check("https://a.example/mcp/x", "https://a.example/mcp", false);
        check("https://a.example", "https://a.example:8443/mcp", false);
        check("https://a.example", "http://a.example/mcp", false);
        check("https://b.example", "https://a.example/mcp", false);
    }

    #[test]
    fn private_server_opens_its_host_and_a_named_one_its_port() {
        let check = |server: &str, host: &str, port: u16, expected: bool| {
            let admits = hosts(server).iter().any(|rule| rule.admits(host, port));
            assert_eq!(admits, expected, "{server} {host}:{port}");
        };
        check("http://127.0.0.1:81/mcp", "127.0.0.1", 82, true);
        check("http://127.0.0.1:81/mcp", "localhost", 82, true);
        check("http://localhost:81/mcp", "[::1]", 82, true);
        check("http://127.0.0.1:81/mcp", "192.168.1.5", 81, false);
        check("https://192.168.1.5/mcp", "192.168.1.5", 8443, true);
        check("https://192.168.1.5/mcp", "192.168.1.6", 443, false);
        check("https://192.168.1.5/mcp", "127.0.0.1", 443, false);
        check("https://mcp.example/mcp", "mcp.example", 443, true);
        check("https://mcp.example/mcp", "mcp.example", 80, false);
        check("https://mcp.example/mcp", "127.0.0.1", 443, false);
        check("https://mcp.example/mcp", "169.254.169.254", 80, false);
    }

    #[test]
    fn well_known_addresses_have_the_path_behind_them() {
        let of = |text: &str| well_known(&Url::parse(text).unwrap(), "x");
        assert_eq!(of("https://a.example"), "https://a.example/.well-known/x");
        assert_eq!(of("https://a.example:81/t/1/?q"), "https://a.example:81/.well-known/x/t/1");
        assert_eq!(canonical(&Url::parse("https://A.example/?q#f").unwrap()), "https://a.example");
        assert_eq!(canonical(&Url::parse("https://a.example/mcp/").unwrap()), "https://a.example/mcp/");
    }
}
