//! Requests to a homeserver, and the meaning of its errors.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use serde_json::Value;

use super::Options;
use crate::rest::{self, TIMEOUT, encoded};
use crate::talk::{Failure, Fault};

/// The longest response that is read, in bytes.
const MAX_ANSWER: usize = 32 << 20;
/// How much longer a request may take that waits for events.
const POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// A homeserver's API for our account.
pub(super) struct Api {
    base: String,
    /// The required account. If empty, any account will do.
    user_id: String,
    token: Secret,
    exchange: Arc<dyn Exchange>,
    polling: Arc<dyn Exchange>,
}

impl Api {
    pub(super) fn new(options: Options) -> Self {
        let Options { api_base, user_id, token, exchange, polling } = options;
        Self { base: api_base.trim_end_matches('/').to_owned(), user_id, token, exchange, polling }
    }

    /// Returns the account that the token belongs to. Fails permanently if the configuration names another one,
    /// because a misplaced token must not act with someone else's rights.
    pub(super) async fn account(&self) -> Result<String, Failure> {
        let answer = self.get("/_matrix/client/v3/account/whoami").await?;
        let account = answer["user_id"].as_str().unwrap_or_default();
        if !self.user_id.is_empty() && account != self.user_id {
            let wanted = &self.user_id;
            return Err(Failure::Token(format!(
                "channels.matrix.token belongs to {account}, but channels.matrix.user_id is {wanted}; change one of them"
            )));
        }
        Ok(account.to_owned())
    }

    /// Returns whether a token is set.
    pub(super) fn has_token(&self) -> bool {
        !self.token.is_empty()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.json(&self.exchange, Method::Get, path, None, TIMEOUT).await
    }

    /// Sends a request that waits for events.
    pub(super) async fn poll(&self, path: &str) -> Result<Value, Failure> {
        self.json(&self.polling, Method::Get, path, None, POLL_TIMEOUT).await
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.json(&self.exchange, Method::Put, path, Some(body), TIMEOUT).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.json(&self.exchange, Method::Post, path, Some(body), TIMEOUT).await
    }

    /// Leaves a room.
    pub(super) async fn leave(&self, room: &str) -> Result<Value, Failure> {
        self.post(&format!("/_matrix/client/v3/rooms/{}/leave", encoded(room)), &serde_json::json!({})).await
    }

    /// Uploads a file and returns its address.
    pub(super) async fn upload(&self, name: &str, mime: &str, bytes: Vec<u8>) -> Result<String, Failure> {
        let path = format!("/_matrix/media/v3/upload?filename={}", encoded(name));
        let call = HttpCall {
            exchange: &self.exchange,
            method: Method::Post,
            path: &path,
            content_type: mime,
            body: bytes,
            timeout: TIMEOUT * 2,
        };
        let (status, answer) = self.ask(call).await?;
        let answer = read(status, &answer)?;
        let uri = answer["content_uri"].as_str().map(str::to_owned);
        uri.ok_or_else(|| {
            Failure::Fault(Fault::Refused("the homeserver gives no address for the file".into()))
        })
    }

    /// Downloads a file.
    pub(super) async fn download(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let call = HttpCall {
            exchange: &self.exchange,
            method: Method::Get,
            path,
            content_type: "",
            body: Vec::new(),
            timeout: TIMEOUT * 2,
        };
        let (status, bytes) = self.ask(call).await?;
        if status == 200 { Ok(bytes) } else { read(status, &bytes).map(|_| bytes) }
    }

    async fn json(
        &self,
        exchange: &Arc<dyn Exchange>,
        method: Method,
        path: &str,
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Value, Failure> {
        let (content_type, body) =
            body.map_or(("", Vec::new()), |body| ("application/json", body.to_string().into_bytes()));
        let (status, answer) =
            self.ask(HttpCall { exchange, method, path, content_type, body, timeout }).await?;
        read(status, &answer)
    }

    async fn ask(&self, call: HttpCall<'_>) -> Result<(u16, Vec<u8>), Failure> {
        let HttpCall { exchange, method, path, content_type, body, timeout } = call;
        let mut headers = vec![("authorization".to_owned(), format!("Bearer {}", self.token.expose()))];
        if !content_type.is_empty() {
            headers.push(("content-type".to_owned(), content_type.to_owned()));
        }
        let request = ExchangeRequest { method, url: format!("{}{path}", self.base), headers, body };
        let answer = rest::ask(&**exchange, request, (timeout, MAX_ANSWER)).await;
        let answer = answer.map_err(|failure| Failure::Fault(failure.fault("the homeserver")))?;
        if answer.status == 429 {
            let pause = answer.header("retry-after").and_then(|pause| pause.parse().ok());
            let told = || answer.json()["retry_after_ms"].as_u64().map(Duration::from_millis);
            let after = pause.map(Duration::from_secs).or_else(told).unwrap_or(Duration::from_secs(5));
            let message = "the homeserver wants a pause".to_owned();
            return Err(Failure::Fault(Fault::Later { message, after: Some(after) }));
        }
        Ok((answer.status, answer.body))
    }
}

/// A call of the homeserver.
struct HttpCall<'a> {
    exchange: &'a Arc<dyn Exchange>,
    method: Method,
    path: &'a str,
    /// Empty without a body.
    content_type: &'a str,
    body: Vec<u8>,
    timeout: Duration,
}

fn read(status: u16, answer: &[u8]) -> Result<Value, Failure> {
    let told: Value = serde_json::from_slice(answer).unwrap_or_default();
    let word = told["errcode"].as_str().unwrap_or("no answer that can be read").to_owned();
    let message = format!("the homeserver: {status} {word}");
    match status {
        200..=299 if told.is_object() => Ok(told),
        401 if matches!(word.as_str(), "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN") => {
            Err(Failure::Token(format!(
                "the homeserver does not take the token ({word}); set channels.matrix.token to one of the bot's account"
            )))
        }
        401 => Err(Failure::Fault(Fault::Unclear(message))),
        403 if word != "M_FORBIDDEN" => Err(Failure::Fault(Fault::Unclear(message))),
        404 if word != "M_NOT_FOUND" => Err(Failure::Fault(Fault::Unclear(message))),
        400..=499 if told["errcode"].is_null() => Err(Failure::Fault(Fault::Unclear(message))),
        400..=499 => Err(Failure::Fault(Fault::Refused(message))),
        502 | 503 => Err(Failure::Fault(Fault::later(message))),
        _ => Err(Failure::Fault(Fault::Doubtful(message))),
    }
}
