//! The validated URL of a request. Which machines it may reach is judged later, by the addresses that its host resolves
//! to.

use url::{Host, Url};

use super::refusal::Refusal;

/// Maximum length of a URL.
const MAX_LEN: usize = 8 * 1024;

/// An http or https URL without credentials, whose host is written in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target(Url);

impl Target {
    /// Parses and validates a URL.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let url = checked(text, Url::parse(text))?;
        if !is_plainly_written(text, &url) {
            return Err(disguised(&url));
        }
        Ok(Self(url))
    }

    /// Returns the target of a redirect, which may be relative to this URL.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, Refusal> {
        let location = location.trim();
        let url = checked(location, self.0.join(location))?;
        if url.host() != self.0.host() && !is_plainly_written(location, &url) {
            return Err(disguised(&url));
        }
        Ok(Self(url))
    }

    /// Adds query parameters.
    pub(super) fn with_query(mut self, parameters: &[(&str, &str)]) -> Self {
        if !parameters.is_empty() {
            self.0.query_pairs_mut().extend_pairs(parameters);
        }
        self
    }

    /// Returns the URL as text, for the request.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the URL.
    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the host as rules name it.
    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns the port.
    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Returns host and port for a message. Nothing else of the URL is repeated there: a stranger may have written it.
    pub(super) fn host_and_port(&self) -> String {
        format!("{}:{}", self.host(), self.port())
    }
}

fn checked(text: &str, parsed: Result<Url, url::ParseError>) -> Result<Url, Refusal> {
    if text.len() > MAX_LEN {
        return Err(Refusal::address("is longer than 8 KiB"));
    }
    // The URL parser drops some of these characters and takes others for slashes.
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(Refusal::address(
            "contains blanks, control characters or backslashes; percent-encode them",
        ));
    }
    let mut url = parsed.map_err(|error| {
        Refusal::address(format!("is no address ({error}); write it as https://example.com/page"))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::address("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::address("holds a user name or password; leave it out"));
    }
    if url.host_str().is_none_or(str::is_empty) || url.port_or_known_default() == Some(0) {
        return Err(Refusal::address("names no host"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns whether the host was written as it was parsed. `http://2130706433/`, `http://0x7f.1/` and `http://127.1/`
/// all mean 127.0.0.1, and such spellings have no good use.
fn is_plainly_written(text: &str, url: &Url) -> bool {
    let written = text.split_once("//").map_or("", |(_, rest)| rest);
    let written = written.split(['/', '?', '#']).next().unwrap_or_default();
    match url.host() {
        Some(Host::Ipv4(address)) => written.split(':').next() == Some(address.to_string().as_str()),
        Some(Host::Ipv6(_)) => written.starts_with('['),
        _ => true,
    }
}

fn disguised(url: &Url) -> Refusal {
    let host = url.host_str().unwrap_or_default();
    Refusal::address(format!("disguises the address {host}; write it in its usual form, or name the host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_other_than_plain_http_are_rejected() {
        let check = |text: &str, expected: Result<&str, &str>| match (Target::parse(text), expected) {
            (Ok(target), Ok(place)) => assert_eq!(target.host_and_port(), place, "{text}"),
            (Err(refusal), Err(words)) => assert!(refusal.to_string().contains(words), "{text}: {refusal}"),
            (got, expected) => panic!("{text}: {got:?}, not {expected:?}"),
        };
        check("https://example.com/a?b#c", Ok("example.com:443"));
        check(" http://EXAMPLE.com:8080 ", Ok("example.com:8080"));
        check("http://8.8.8.8/", Ok("8.8.8.8:80"));
        check("http://127.0.0.1:81/", Ok("127.0.0.1:81"));
        check("https://[2606:4700::1111]/", Ok("[2606:4700::1111]:443"));
        check("http://[::ffff:127.0.0.1]/", Ok("[::ffff:7f00:1]:80"));
        check("http://bücher.example/", Ok("xn--bcher-kva.example:80"));
        for text in
            ["example.com", "/etc/passwd", "", "http://", "http://[::1", "http://a b/", "http://a..b:99999/"]
        {
            assert!(Target::parse(text).is_err(), "{text}");
        }
        for text in [
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://example.com/",
            "data:text/html,x",
            "javascript:x()",
            "unix:/run/x.sock",
            "blob:http://x/y",
            "ws://example.com/",
        ] {
            check(text, Err("http:// or https://"));
        }
        for text in ["http://me@example.com/", "http://:pw@example.com/", "http://example.com@127.0.0.1/"] {
            check(text, Err("user name or password"));
        }
        for text in [
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.1/",
            "http://0/",
            "http://0x08080808/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
            "http://%31%32%37.0.0.1/",
            "http://127。0。0。1/",
            "http:127.0.0.1/",
        ] {
            check(text, Err("disguises"));
        }
        for text in [
            "http://exa\tmple.com/",
            "http://example.com\\@127.0.0.1/",
            "http:\\\\127.0.0.1/",
            "http://a\u{0}b/",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_redirect_is_judged_like_an_address() {
        let from = Target::parse("http://127.0.0.1:81/a/b").unwrap();
        let check = |location: &str, expected: Option<&str>| {
            let redirected = from.redirected(location).ok();
            assert_eq!(redirected.as_ref().map(Target::as_str), expected, "{location}");
        };
        check("c?d#e", Some("http://127.0.0.1:81/a/c?d"));
        check("/c", Some("http://127.0.0.1:81/c"));
        check("//example.com/c", Some("http://example.com/c"));
        check("https://example.com", Some("https://example.com/"));
        check("http://10.0.0.1/", Some("http://10.0.0.1/"));
        check("http://0x0a.1/", None);
        check("//167772161/", None);
        check("file:///etc/passwd", None);
        check("http://me:pw@example.com/", None);
        check("/\\evil.example", None);
    }
}
