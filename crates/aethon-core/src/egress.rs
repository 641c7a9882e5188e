//! The hosts that the owner opens to tools although their address is not public (`security.egress_allowed_hosts`).
//!
//! A rule names a host as written in a URL, optionally with a port. The configuration validates rules when it is read,
//! and the web tools follow them, so their meaning is defined here and nowhere else.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A host that tools may reach: `nas.local`, `192.168.1.5`, `[fd00::5]`, each with or without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: RuleHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleHost {
    Name(String),
    Address(IpAddr),
}

impl HostRule {
    /// A rule for this host and port only.
    pub fn exactly(host: &str, port: u16) -> Self {
        Self { host: RuleHost::of(host), port: Some(port) }
    }

    /// Returns whether it opens this host, as written in a URL, at this port.
    pub fn admits(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.host == RuleHost::of(host)
    }

    /// Returns whether it names an IP address, not a name that another party could point elsewhere.
    pub fn is_address(&self) -> bool {
        matches!(self.host, RuleHost::Address(_))
    }
}

impl RuleHost {
    fn of(host: &str) -> Self {
        match bare(host).parse::<IpAddr>() {
            Ok(address) => Self::Address(address.to_canonical()),
            Err(_) => Self::Name(host.trim_end_matches('.').to_ascii_lowercase()),
        }
    }
}

/// Returns whether a host is this machine: a loopback address, also within IPv6, or a name of `localhost`. It is written as in a
/// parsed URL: a name in lower case, or an address, that of IPv6 in brackets.
pub fn is_loopback(host: &str) -> bool {
    match bare(host).parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => {
            let name = host.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

/// The text is not a valid rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoHostRule;

impl fmt::Display for NoHostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a host such as nas.local or 192.168.1.5, perhaps with a port such as nas.local:8080")
    }
}

impl FromStr for HostRule {
    type Err = NoHostRule;

    fn from_str(text: &str) -> Result<Self, NoHostRule> {
        let text = text.trim();
        let (host, port) = match text.rsplit_once(':') {
            // A bare IPv6 address contains colons and has no port.
            _ if text.parse::<IpAddr>().is_ok() => (text, None),
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or(NoHostRule));
        let rule = Self { host: RuleHost::of(host), port: port.transpose()? };
        match &rule.host {
            RuleHost::Address(_) => Ok(rule),
            RuleHost::Name(name) if is_name(name) => Ok(rule),
            RuleHost::Name(_) => Err(NoHostRule),
        }
    }
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host)
}

/// Labels of letters, digits, dashes and underscores. The last one must not be a number: that would be an address in
/// disguise.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= 253 && name.split('.').all(is_label) && !is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_opens_its_host_and_nothing_that_looks_like_it() {
        let check = |rule: &str, host: &str, port: u16, expected: bool| {
            assert_eq!(
                rule.parse::<HostRule>().unwrap().admits(host, port),
                expected,
                "{rule} {host}:{port}"
            );
        };
        check("nas.local", "nas.local", 80, true);
        check("NAS.local.", "nas.local", 443, true);
        check("nas.local:8080", "nas.local", 8080, true);
        check("nas.local:8080", "nas.local", 80, false);
        check("nas.local", "evil-nas.local", 80, false);
        check("nas.local", "nas.local.evil.example", 80, false);
        check("localhost", "127.0.0.1", 80, false);
        check("127.0.0.1", "127.0.0.1", 80, true);
        check("127.0.0.1:81", "127.0.0.1", 80, false);
        check("::1", "[::1]", 80, true);
        check("[::1]", "[::1]", 80, true);
        check("[::1]:8080", "[::1]", 8080, true);
        check("[::1]:8080", "[::1]", 80, false);
        check("127.0.0.1", "[::ffff:127.0.0.1]", 80, true);
        assert!(HostRule::exactly("localhost", 8888).admits("LOCALHOST", 8888));
        assert!(!HostRule::exactly("localhost", 8888).admits("localhost", 80));
    }

    #[test]
    fn loopback_is_an_address_or_a_name_of_this_machine() {
        for host in ["localhost", "localhost.", "a.localhost", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example",
            "notlocalhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "[fd00::1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn invalid_hosts_are_no_egress_rules() {
        for text in [
            "",
            " ",
            "*",
            "*.local",
            "http://nas.local",
            "nas.local/",
            "nas.local:",
            "nas.local:0",
            "nas.local:99999",
            "nas.local:http",
            "a b",
            "10.0.0.0/8",
            "127.1",
            "2130706433",
            "0x7f.1",
            "me@nas",
            "[::1",
            "bücher.example",
            "..",
            "a..b",
        ] {
            assert!(text.parse::<HostRule>().is_err(), "{text:?}");
        }
    }
}
