//! The exit of the web tools for other parts of the program that go where a stranger points, as the core's [`Exchange`].

use std::io;

use aethon_core::egress::HostRule;
use aethon_core::exchange::{BodyStream, Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use futures_util::stream;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use super::body::Cut;
use super::client::{WebClient, WebRequest};
use super::failure::WebError;
use super::rules::Rules;
use super::target::Target;
use crate::options::Options;

/// Maximum size of a body.
const MAX_SIZE: usize = 1 << 20;

/// Returns an exchange that reaches public addresses, the hosts that the owner has allowed, and `own`. It follows no redirect,
/// and never reaches the assistant's own port.
pub fn outside(options: &Options, own: Vec<HostRule>) -> impl Exchange + use<> {
    let rules = Rules {
        allowed: options.web.allowed_hosts.iter().cloned().chain(own).collect(),
        own_port: options.port,
        address_file: options.address_file.clone(),
    };
    Outside(WebClient::new(rules, &options.web))
}

struct Outside(WebClient);

#[async_trait]
impl Exchange for Outside {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let target = Target::parse(&request.url).map_err(|refusal| invalid(refusal.to_string()))?;
        let body = match request.method {
            Method::Get => None,
            Method::Post => Some(request.body),
            other => return Err(invalid(format!("{other:?} is not used here"))),
        };
        let header = |(name, value): (String, String)| {
            let mut value = HeaderValue::from_str(&value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        };
        let headers = request.headers.into_iter().map(header).collect::<Option<_>>();
        let headers = headers.ok_or_else(|| invalid("a header is not valid".into()))?;
        let sent = self.0.send(WebRequest { target, headers, body }, Trust::Owner, body_limit).await;
        let response = sent.map_err(|error| match error {
            WebError::Refused(refusal) => {
                io::Error::new(io::ErrorKind::PermissionDenied, refusal.to_string())
            }
            WebError::Failed(why) => io::Error::other(why),
        })?;
        if response.body.cut == Some(Cut::Long) {
            return Err(io::Error::other("the answer is too large"));
        }
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let body: BodyStream = Box::pin(stream::iter([Ok(response.body.bytes.into())]));
        Ok(ExchangeResponse {
            status: response.status,
            headers: response.headers.iter().filter_map(text).collect(),
            body,
        })
    }
}

fn body_limit(_status: u16, _headers: &HeaderMap) -> usize {
    MAX_SIZE
}
