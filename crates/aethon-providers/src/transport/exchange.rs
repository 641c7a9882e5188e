//! The transport for other parts of the program, as the core's [`Exchange`]. Services other than models, such as MCP
//! servers, use the same connections, timeouts and cancellation.

use std::io;
use std::time::Duration;

use aethon_core::exchange::{self, Exchange, ExchangeRequest, ExchangeResponse};
use aethon_core::header_value::header_oddity;
use async_trait::async_trait;
use futures_util::stream;
use ureq::http::{HeaderName, HeaderValue};
use url::Url;

use super::{Client, Failure, Method, Outgoing};

/// Creates an exchange with the service at this address, waiting at most `silence` for each next byte.
///
/// # Errors
///
/// The address is invalid.
pub fn exchange(address: &str, silence: Duration) -> io::Result<impl Exchange + use<>> {
    let invalid =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("{address:?} is no address of a server"));
    let url = Url::parse(address).map_err(|_| invalid())?;
    let host = url.host_str().ok_or_else(invalid)?;
    Ok(Transport(Client::new(silence, aethon_core::egress::is_loopback(host))))
}

struct Transport(Client);

#[async_trait]
impl Exchange for Transport {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let method = match request.method {
            exchange::Method::Get => Method::Get,
            exchange::Method::Post => Method::Post,
            exchange::Method::Put => Method::Put,
            exchange::Method::Patch => Method::Patch,
            exchange::Method::Delete => Method::Delete,
        };
        let headers = request
            .headers
            .into_iter()
            .map(|(name, value)| header(&name, &value))
            .collect::<io::Result<_>>()?;
        let outgoing = Outgoing { method, url: request.url, headers, body: request.body };
        let incoming = self.0.send(outgoing).await.map_err(broken)?;
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let pieces = stream::unfold(incoming.body, |mut body| async move {
            let piece = body.next().await?;
            Some((piece.map_err(broken), body))
        });
        Ok(ExchangeResponse {
            status: incoming.status,
            headers: incoming.headers.iter().filter_map(text).collect(),
            body: Box::pin(pieces),
        })
    }
}

/// A header's value may be a secret, so errors name only the header.
fn header(name: &str, value: &str) -> io::Result<(HeaderName, HeaderValue)> {
    let invalid = |what: &str| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("the {what} of the header {name:?} is not valid"))
    };
    if let Some(oddity) = header_oddity(value) {
        let message = format!("the value of the header {name:?} {oddity}, so it cannot be sent");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let value = HeaderValue::from_str(value.trim()).map_err(|_| invalid("value"))?;
    Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("name"))?, value))
}

fn broken(failure: Failure) -> io::Error {
    let is_unsent = matches!(
        failure,
        Failure::UnknownHost | Failure::Refused | Failure::ConnectTimeout(_) | Failure::NoProxy(_)
    );
    let kind = if is_unsent { io::ErrorKind::NotConnected } else { io::ErrorKind::Other };
    let message = match failure {
        Failure::NoProxy(proxy) => format!("the proxy at {proxy} cannot be reached"),
        Failure::UnknownHost => "the name of the host is not known".to_owned(),
        Failure::Refused => "nothing listens there".to_owned(),
        Failure::ConnectTimeout(limit) => format!("no connection within {} s", limit.as_secs()),
        Failure::Silence(limit) => format!("no answer within {} s", limit.as_secs()),
        other => other.cause(),
    };
    io::Error::new(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        for (value, words) in
            [("sk-abc\u{200b}", "U+200B"), ("sk-\nabc", "line break"), ("sk-abcé", "U+00E9")]
        {
            let error = header("authorization", value).unwrap_err().to_string();
            assert!(error.contains("authorization") && error.contains(words), "{error}");
            assert!(!error.contains("sk-"), "{error}");
        }
        let (_, value) = header("authorization", " Bearer sk-abc\r\n").unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer sk-abc");
    }
}
