//! The requests to authorization servers: small JSON documents, within limits of size and time. Nothing follows a redirect.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::secret::Secret;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use crate::error::Error;

/// Maximum size of a document.
const MAX_SIZE: usize = 256 * 1024;
/// Timeout for a request with its answer. Shorter than other programs wait for the lock that a refresh holds.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// `Null` if it is no JSON.
    pub(super) document: Value,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns a text of the document.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.document[name].as_str().filter(|text| !text.is_empty())
    }

    /// Returns the error code of a refusal, if the standards define it. Nothing else of the refusal is repeated.
    pub(super) fn refusal(&self) -> String {
        let is_code = |code: &&str| {
            code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        match self.text("error").filter(is_code) {
            Some(code) => format!("{code} (status {})", self.status),
            None => format!("the status {}", self.status),
        }
    }
}

/// Sends requests through an exchange.
#[derive(Clone)]
pub(super) struct Fetch {
    pub(super) exchange: Arc<dyn Exchange>,
    /// By which the life of a token is measured.
    pub(super) clock: Arc<dyn Clock>,
}

impl Fetch {
    /// Returns the seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or_default()
    }

    /// Reads a document.
    pub(super) async fn get(&self, url: &str) -> Result<Answer, Error> {
        self.send(Method::Get, url, vec![("accept".into(), "application/json".into())], Vec::new()).await
    }

    /// Sends a document.
    pub(super) async fn post_json(&self, url: &Url, document: &Value) -> Result<Answer, Error> {
        let headers = [("accept", "application/json"), ("content-type", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        self.send(Method::Post, url.as_str(), headers, document.to_string().into_bytes()).await
    }

    /// Sends a form, with an `Authorization` header if there is one.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        fields: &[(&str, &str)],
        authorization: Option<&Secret>,
    ) -> Result<Answer, Error> {
        let headers = [("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded")];
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let own = authorization.map(|value| ("authorization".to_owned(), value.expose().to_owned()));
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(Method::Post, url.as_str(), headers.chain(own).collect(), body.into_bytes()).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Answer, Error> {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let request = ExchangeRequest { method, url: url.to_owned(), headers, body };
        let asked = async {
            let response = self.exchange.send(request).await?;
            let status = response.status;
            Ok::<_, std::io::Error>(Answer { status, document: document(response).await? })
        };
        match timeout(TIMEOUT, asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Error::new(format!("{host} cannot be reached: {error}")).because(error)),
            Err(_) => Err(Error::new(format!("{host} did not answer within {} s", TIMEOUT.as_secs()))),
        }
    }
}

async fn document(response: ExchangeResponse) -> std::io::Result<Value> {
    let mut body = response.body;
    let mut all = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        if piece.len() > MAX_SIZE - all.len() {
            return Err(std::io::Error::other("its answer is too large"));
        }
        all.extend_from_slice(&piece);
    }
    Ok(serde_json::from_slice(&all).unwrap_or_default())
}
