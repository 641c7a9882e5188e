//! Authorises a request to Bedrock: with a bearer key if there is one, else with a signature.

use std::sync::Arc;

use aethon_core::clock::{Clock, SystemClock};
use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::secret::Secret;
use ureq::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use url::Url;

use super::credentials::Chain;
use super::sigv4::{self, Request, Scope};
use crate::headers;
use crate::options::AwsEnvironment;
use crate::service::Service;
use crate::transport::{Method, Outgoing};

/// Signs the requests to one service.
pub(crate) struct Signer {
    service: Arc<Service>,
    region: String,
    chain: Chain,
    clock: Arc<dyn Clock>,
}

impl Signer {
    pub(crate) fn new(service: Arc<Service>, region: String, environment: AwsEnvironment) -> Self {
        Self::with_clock(service, region, environment, Arc::new(SystemClock))
    }

    pub(crate) fn with_clock(
        service: Arc<Service>,
        region: String,
        environment: AwsEnvironment,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let chain = Chain::new(environment, clock.clone());
        Self { service, region, chain, clock }
    }

    /// Adds the authorization to a request.
    pub(crate) async fn sign(&self, mut outgoing: Outgoing) -> Result<Outgoing, ModelError> {
        if let Some(bearer) = headers::bearer(&self.service.key) {
            outgoing.headers.push(bearer);
            return Ok(outgoing);
        }
        let credentials = self.chain.credentials().await?;
        let url = Url::parse(&outgoing.url).map_err(|error| self.fault(&error.to_string()))?;
        let date = sigv4::date(self.clock.now());
        let host = host(&url);
        let token = credentials.session_token.expose().to_owned();
        let mut signed = vec![("content-type", "application/json"), ("host", &host), ("x-amz-date", &date)];
        if !credentials.session_token.is_empty() {
            signed.push(("x-amz-security-token", &token));
        }
        let request = Request {
            method: match outgoing.method {
                Method::Get => "GET",
                Method::Post => "POST",
                Method::Put => "PUT",
                Method::Patch => "PATCH",
                Method::Delete => "DELETE",
            },
            path: url.path(),
            query: url.query().unwrap_or_default(),
            headers: &signed,
            body: &outgoing.body,
        };
        let scope = Scope { region: &self.region, service: "bedrock", at: self.clock.now() };
        let authorization = Secret::new(sigv4::authorization(&request, &credentials, scope));
        let token = Secret::new(token);
        for (name, value) in [("x-amz-date", &Secret::new(date.clone())), ("x-amz-security-token", &token)] {
            if value.is_empty() {
                continue;
            }
            let value = header(value).ok_or_else(|| self.fault("a credential that no header can hold"))?;
            outgoing.headers.push((HeaderName::from_static(name), value));
        }
        let value =
            header(&authorization).ok_or_else(|| self.fault("a credential that no header can hold"))?;
        outgoing.headers.push((AUTHORIZATION, value));
        Ok(outgoing)
    }

    fn fault(&self, why: &str) -> ModelError {
        let sentence = "The request to Amazon Bedrock could not be signed; check the AWS credentials.";
        ModelError::new(ModelErrorKind::Auth, sentence).with_detail(self.service.redact(why))
    }
}

/// Returns the `Host` header as it is sent: with the port unless it is the scheme's default.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn header(value: &Secret) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(value.expose()).ok()?;
    header.set_sensitive(true);
    Some(header)
}
