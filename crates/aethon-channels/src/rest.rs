//! A request to a platform with its complete response, and the consequences if there is none.
//!
//! Each codec knows what a status means and how its platform reports errors.

use std::io;
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest};
use futures_util::StreamExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::timeout;

use crate::talk::Fault;

/// How long a request may take that returns immediately.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Characters that are not encoded in a path segment.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a path segment.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Returns whether an address is https on one of these hosts: exactly that host, or a subdomain if the entry begins
/// with a dot. A host with anything but letters, digits, dots and hyphens never matches, because programs parse such
/// hosts differently.
pub(crate) fn is_on(address: &str, hosts: &[&str]) -> bool {
    let host = address.strip_prefix("https://").and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| {
        let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        let is_known = |known: &&str| host == *known || (known.starts_with('.') && host.ends_with(known));
        is_name && hosts.iter().any(is_known)
    })
}

/// A complete response.
pub(crate) struct RestAnswer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl RestAnswer {
    /// Returns the first header with this name, given in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, or null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request that got no response.
#[derive(Debug)]
pub(crate) struct RequestFailure {
    pub(crate) message: String,
    /// Whether it is certain that nothing was sent.
    pub(crate) is_unsent: bool,
}

impl RequestFailure {
    /// Converts to a fault that names the platform.
    pub(crate) fn fault(self, who: &str) -> Fault {
        let message = format!("{who}: {}", self.message);
        if self.is_unsent { Fault::later(message) } else { Fault::Doubtful(message) }
    }
}

/// Sends a request and reads its response, keeping at most `most` bytes.
pub(crate) async fn ask(
    exchange: &dyn Exchange,
    request: ExchangeRequest,
    (patience, most): (Duration, usize),
) -> Result<RestAnswer, RequestFailure> {
    let asked = timeout(patience, async {
        let response = exchange.send(request).await?;
        let (mut stream, mut body) = (response.body, Vec::new());
        while let Some(piece) = stream.next().await {
            body.extend_from_slice(&piece?);
            if body.len() >= most {
                body.truncate(most);
                break;
            }
        }
        Ok::<_, io::Error>(RestAnswer { status: response.status, body, headers: response.headers })
    });
    match asked.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(RequestFailure {
            message: error.to_string(),
            is_unsent: error.kind() == io::ErrorKind::NotConnected,
        }),
        Err(_) => Err(RequestFailure { message: "no answer in time".into(), is_unsent: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_address_has_nothing_special_in_it() {
        assert_eq!(encoded("!r:hs/ä~a-b_c.d"), "%21r%3Ahs%2F%C3%A4~a-b_c.d");
    }

    #[test]
    fn a_file_is_on_a_host_that_is_known() {
        let check = |address: &str, expected: bool| {
            assert_eq!(is_on(address, &["a.example", ".a.example", ".below.example"]), expected, "{address}");
        };
        check("https://a.example", true);
        check("https://files.a.example/x?y", true);
        check("https://below.example/x", false);
        check("https://x.below.example#z", true);
        check("http://a.example/x", false);
        check("https://nota.example/x", false);
        check("https://a.example.evil.example/x", false);
        check("https://evil.example\\@x.a.example/", false);
        check("https://evil.example?.a.example", false);
    }
}
