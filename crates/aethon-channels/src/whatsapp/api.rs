//! Requests to the Graph API, and the meaning of its errors.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use serde_json::Value;

use super::Options;
use crate::rest::{self, RestAnswer, TIMEOUT, encoded};
use crate::talk::{Failure, Fault};

/// The longest response that is read, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// How long a file transfer may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(90);
/// The pause when Meta asks for one without a duration.
const PAUSE: Duration = Duration::from_secs(10);
/// Codes about the recipient or the content. With a 403 or 404, any other may be a slip or be about us.
const FINAL: [i64; 13] = [
    33,      // the number no longer exists
    100,     // a wrong parameter
    130_472, // the person takes part in an experiment of Meta's
    131_008, // a parameter is missing
    131_009, // a wrong value
    131_021, // the number is our own
    131_026, // the message cannot be delivered
    131_030, // the number is not among those allowed for tests
    131_047, // more than a day after the person's last message
    131_049, // held back by Meta
    131_050, // the person takes no messages of this kind
    131_051, // an unknown kind of message
    131_053, // a file that cannot be taken
];
/// Hosts of files, besides the Graph API's own address.
const FILE_HOSTS: [&str; 4] = [".fbsbx.com", ".facebook.com", ".fbcdn.net", ".whatsapp.net"];

/// The Graph API for our number.
pub(super) struct Api {
    host: String,
    base: String,
    number: String,
    token: Secret,
    exchange: Arc<dyn Exchange>,
}

impl Api {
    pub(super) fn new(options: Options) -> Self {
        let host = options.api_base.trim_end_matches('/').to_owned();
        let base = match options.api_version.trim_matches('/') {
            "" => host.clone(),
            version => format!("{host}/{version}"),
        };
        let Options { phone_number_id, token, exchange, .. } = options;
        Self { host, base, number: phone_number_id, token, exchange }
    }

    /// Returns the configuration key that must be set first, if any.
    pub(super) fn missing(&self) -> Option<&'static str> {
        if self.token.is_empty() {
            Some("channels.whatsapp.token is empty; set it to an access token of the app")
        } else if self.number.trim().is_empty() {
            Some("channels.whatsapp.phone_number_id is empty; set it to Meta's id of the number")
        } else {
            None
        }
    }

    /// Returns Meta's id of our number.
    pub(super) fn number(&self) -> &str {
        &self.number
    }

    /// Returns what Meta knows about our number.
    pub(super) async fn look(&self) -> Result<Value, Failure> {
        let url =
            format!("{}/{}?fields=display_phone_number,verified_name", self.base, encoded(&self.number));
        read(self.ask(Method::Get, url, None).await?)
    }

    /// Sends a message, or marks one as read.
    pub(super) async fn messages(&self, body: &Value) -> Result<Value, Failure> {
        let url = format!("{}/{}/messages", self.base, encoded(&self.number));
        let body = ("application/json".to_owned(), body.to_string().into_bytes());
        read(self.ask(Method::Post, url, Some(body)).await?)
    }

    /// Uploads a file for a message and returns its id.
    pub(super) async fn upload(&self, form: (String, Vec<u8>)) -> Result<String, Failure> {
        let url = format!("{}/{}/media", self.base, encoded(&self.number));
        let stored = read(self.ask(Method::Post, url, Some(form)).await?)?;
        let id = stored["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| Failure::Fault(Fault::Refused("WhatsApp gives no id for the file".into())))
    }

    /// Downloads a file, reading at most one byte more than `most`.
    pub(super) async fn download(&self, id: &str, most: usize) -> Result<Vec<u8>, Failure> {
        let found = read(self.ask(Method::Get, format!("{}/{}", self.base, encoded(id)), None).await?)?;
        let url = found["url"].as_str().unwrap_or_default().to_owned();
        if !self.is_own(&url) {
            // The request carries the token, so the address must be one of Meta's.
            return Err(Failure::Fault(Fault::Refused("the file is not where WhatsApp keeps files".into())));
        }
        let answer = self.fetch(Method::Get, url, None, FILE_TIMEOUT, most.saturating_add(1)).await?;
        if answer.status == 200 { Ok(answer.body) } else { read(answer).map(|_| Vec::new()) }
    }

    fn is_own(&self, url: &str) -> bool {
        url.strip_prefix(&self.host).is_some_and(|rest| rest.starts_with('/'))
            || rest::is_on(url, &FILE_HOSTS)
    }

    async fn ask(
        &self,
        method: Method,
        url: String,
        body: Option<(String, Vec<u8>)>,
    ) -> Result<RestAnswer, Failure> {
        self.fetch(method, url, body, TIMEOUT, MAX_ANSWER).await
    }

    async fn fetch(
        &self,
        method: Method,
        url: String,
        body: Option<(String, Vec<u8>)>,
        timeout: Duration,
        max: usize,
    ) -> Result<RestAnswer, Failure> {
        let mut headers = vec![("authorization".to_owned(), format!("Bearer {}", self.token.expose()))];
        let body = body.map(|(kind, bytes)| {
            headers.push(("content-type".to_owned(), kind));
            bytes
        });
        let request = ExchangeRequest { method, url, headers, body: body.unwrap_or_default() };
        let answered = rest::ask(&*self.exchange, request, (timeout, max)).await;
        answered.map_err(|failure| Failure::Fault(failure.fault("WhatsApp")))
    }
}

fn read(answer: RestAnswer) -> Result<Value, Failure> {
    let told = answer.json();
    if (200..300).contains(&answer.status) && told.is_object() {
        return Ok(told);
    }
    let pause = answer.header("retry-after").and_then(|pause| pause.parse().ok()).map(Duration::from_secs);
    Err(failure(answer.status, &told["error"], pause))
}

/// Interprets Meta's error by status and code.
fn failure(status: u16, error: &Value, pause: Option<Duration>) -> Failure {
    let code = error["code"].as_i64().unwrap_or(0);
    let said =
        error["error_data"]["details"].as_str().or_else(|| error["message"].as_str()).unwrap_or("no reason");
    let said: String = said.chars().filter(|c| !c.is_control()).take(300).collect();
    let message = format!("WhatsApp: {status} {code} {said}");
    Failure::Fault(match (status, code) {
        (401, _) | (_, 190) => {
            return Failure::Token(format!(
                "WhatsApp does not take the token ({status} {code}); set channels.whatsapp.token"
            ));
        }
        // A rate limit: of the app, of the number, or for one person.
        (429, _) | (_, 4 | 80007 | 130_429 | 131_048 | 131_056) => {
            Fault::Later { message, after: Some(pause.unwrap_or(PAUSE)) }
        }
        // Meta itself says that nothing was done.
        (_, 131_016) | (502 | 503, _) => Fault::Later { message, after: pause },
        (403 | 404 | 413, _) if !FINAL.contains(&code) => Fault::Unclear(message),
        (400..=499, 0) => Fault::Unclear(message),
        (400..=499, _) => Fault::Refused(message),
        _ => Fault::Doubtful(message),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failures_are_classified_by_code() {
        let fault = |status, code| Fault::from(failure(status, &json!({"code": code, "message": "m"}), None));
        assert!(matches!(failure(400, &json!({"code": 190}), None), Failure::Token(_)));
        assert!(matches!(fault(400, 131_056), Fault::Later { after: Some(_), .. }));
        assert!(matches!(fault(400, 100), Fault::Refused(_)));
        assert!(matches!(fault(403, 10), Fault::Unclear(_)));
        assert!(matches!(fault(404, 0), Fault::Unclear(_)));
        assert!(matches!(fault(403, 131_026), Fault::Refused(_)));
        assert!(matches!(fault(500, 1), Fault::Doubtful(_)));
        assert!(matches!(fault(503, 2), Fault::Later { after: None, .. }));
    }
}
