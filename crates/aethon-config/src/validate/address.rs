//! Checks addresses: of models, messengers, MCP servers and proxies.

use std::net::IpAddr;

use aethon_core::egress;
use url::{Host, Url};

use crate::echo::quoted;
use crate::path::KeyPath;
use crate::remark::Remarks;

/// What services have below their base: documentation often shows the whole address of a request.
const ENDPOINTS: [&str; 6] =
    ["/chat/completions", "/completions", "/responses", "/messages", "/api/chat", "/embeddings"];

/// Requires `host` below `section` to be an http or https address, with plain http only on this machine unless permitted.
pub(super) fn model_host(section: &KeyPath, host: &str, is_http_allowed: bool, remarks: &mut Remarks) {
    if host.trim().is_empty() {
        return;
    }
    let key = section.key("host");
    match parse(host) {
        Err(found) => remarks.problem(key, found, "an address such as https://api.example/v1, or nothing"),
        Ok(url) if url.scheme() == "http" && !is_http_allowed && !is_loopback(&url) => remarks.problem(
            key,
            format!("plain http to {}", url.host_str().unwrap_or_default()),
            format!("https, or http to this machine; {} = true permits it", section.key("allow_http")),
        ),
        Ok(url) => {
            let path = url.path().trim_end_matches('/');
            if let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| path.ends_with(*endpoint)) {
                let base = &path[..path.len() - endpoint.len()];
                remarks.problem(
                    key,
                    format!("an address that ends in {endpoint}, which is added to it"),
                    format!(
                        "the part before that, which ends in {}",
                        if base.is_empty() { "the host" } else { base }
                    ),
                );
            }
        }
    }
}

/// Requires `address` at `key` to be an http or https address, and warns of plain http to other machines.
pub(super) fn service(key: KeyPath, address: &str, remarks: &mut Remarks) {
    match parse(address) {
        Err(found) => remarks.problem(key, found, "an address such as https://service.example"),
        Ok(url) if url.scheme() == "http" && !is_loopback(&url) => {
            remarks.warning(key, "plain http: tokens and messages are sent unencrypted");
        }
        Ok(_) => {}
    }
}

/// Parses an http or https address, or describes its fault without repeating a password.
fn parse(address: &str) -> Result<Url, String> {
    let shown = if address.contains('@') { "an address".to_owned() } else { quoted(address) };
    let url = Url::parse(address.trim()).map_err(|error| format!("{shown} ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{shown} with the scheme {:?}", url.scheme()));
    }
    if url.host().is_none() {
        return Err(format!("{shown} without a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a user name or password in it".to_owned());
    }
    if url.fragment().is_some() {
        return Err(format!("{shown} with a fragment"));
    }
    Ok(url)
}

/// Returns whether this host name or address refers to this machine.
pub(super) fn is_host_here(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    let address = if bare.contains(':') { format!("http://[{bare}]") } else { format!("http://{bare}") };
    Url::parse(&address).is_ok_and(|url| is_loopback(&url))
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(egress::is_loopback)
}

/// Returns whether `text` is an address or a network such as `10.0.0.0/8`.
pub(super) fn is_network(text: &str) -> bool {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    length.is_none_or(|length| length.parse::<u8>().is_ok_and(|length| length <= most))
}

/// Returns whether `text` is an origin as a browser sends it: scheme, host, perhaps a port, nothing else.
pub(super) fn is_origin(text: &str) -> bool {
    let is_bare = text.split_once("://").is_some_and(|(_, host)| !host.contains(['/', '?', '#', '@', '*']));
    is_bare && parse(text).is_ok()
}

/// Returns whether `text` is a host name or address without scheme, port or path.
pub(super) fn is_host(text: &str) -> bool {
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    if bare.contains(':') || bare.len() != text.len() {
        return bare.parse::<std::net::Ipv6Addr>().is_ok();
    }
    !text.contains(['*', '%', '/', '?', '#', '@', '\\'])
        && !text.contains(char::is_whitespace)
        && Host::parse(text).is_ok()
}

/// Returns whether `text` is empty or a path below which a proxy can offer the service: spelled so that every proxy and browser
/// reads it alike, and distinct from the addresses of the service itself.
pub(super) fn is_base_path(text: &str) -> bool {
    const OWN: [&str; 8] = ["api", "dashboard", "docs", "health", "metrics", "openapi.json", "webhook", "ws"];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
    let Some(rest) = text.strip_prefix('/') else { return text.is_empty() };
    let first = rest.split('/').next().unwrap_or_default();
    text.len() <= 200 && rest.split('/').all(is_segment) && !OWN.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_plain_and_not_an_address_of_the_service() {
        for (text, expected) in [
            ("", true),
            ("/aethon", true),
            ("/home/aethon-2", true),
            ("/apis", true),
            ("/", false),
            ("aethon", false),
            ("/aethon/", false),
            ("//aethon", false),
            ("/a//b", false),
            ("/a/../b", false),
            ("/a b", false),
            ("/a%20b", false),
            ("/a?b", false),
            ("/a;b", false),
            ("/\u{e4}", false),
            ("https://home.example/aethon", false),
            ("/api", false),
            ("/ws/aethon", false),
            ("/dashboard", false),
        ] {
            assert_eq!(is_base_path(text), expected, "{text:?}");
        }
    }

    #[test]
    fn loopback_is_decided_by_the_host_and_not_by_how_it_looks() {
        let check = |address: &str, expected: bool| {
            assert_eq!(is_loopback(&parse(address).unwrap()), expected, "{address}")
        };
        check("http://127.0.0.1:11434", true);
        check("http://127.1", true);
        check("http://[::1]:80", true);
        check("http://[::ffff:127.0.0.1]", true);
        check("http://localhost", true);
        check("http://LOCALHOST.", true);
        check("http://models.localhost", true);
        check("http://127.0.0.1.evil.example", false);
        check("http://localhost.evil.example", false);
        check("http://notlocalhost", false);
        check("http://10.0.0.1", false);
        check("http://[::]", false);
        check("http://0.0.0.0", false);
        for (host, expected) in [
            ("localhost", true),
            ("::1", true),
            ("[::1]", true),
            ("127.0.0.1", true),
            ("mail.example", false),
        ] {
            assert_eq!(is_host_here(host), expected, "{host}");
        }
    }

    #[test]
    fn hosts_origins_and_networks_are_distinguished() {
        let check = |text: &str, host: bool, origin: bool, network: bool| {
            assert_eq!((is_host(text), is_origin(text), is_network(text)), (host, origin, network), "{text}");
        };
        check("nas.local", true, false, false);
        check("127.0.0.1", true, false, true);
        check("::1", true, false, true);
        check("[::1]", true, false, false);
        check("10.0.0.0/8", false, false, true);
        check("10.0.0.0/33", false, false, false);
        check("fd00::/8", false, false, true);
        check("https://home.example", false, true, false);
        check("https://home.example:8443", false, true, false);
        check("https://home.example/", false, false, false);
        check("https://*.example", false, false, false);
        check("null", true, false, false);
        check("nas.local:80", false, false, false);
        check("127.0.0.1:80", false, false, false);
        check("", false, false, false);
        check("a b", false, false, false);
    }
}
