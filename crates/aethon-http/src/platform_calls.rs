//! HTTP calls from messenger platforms, such as Meta for WhatsApp. They are passed to the channel, which checks that
//! the platform sent them.
//!
//! The route exists while the channel is on, regardless of the webhook settings, and under any Host: nothing is
//! processed without the platform's signature. The response is sent as soon as the call is stored, before anything
//! processes it.

use std::sync::Arc;

use aethon_core::channel::{CallTerms, CallbackOutcome, PlatformCalls};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use schemars::JsonSchema;

use crate::app::App;
use crate::body::Response;
use crate::deps::Setup;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// Below which path platforms call.
const BELOW: &str = "/webhook/";
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
/// The longest challenge that is echoed, in bytes.
const MAX_CHALLENGE: usize = 256;
/// After how many seconds to repeat a call for which there was no room.
const RETRY_SECONDS: u64 = 30;

/// Returns whether a platform calls this path.
pub(crate) fn is_on(app: &App, path: &str) -> bool {
    path.starts_with(BELOW) && calls(&app.part(), path).is_some()
}

/// Refuses a call that bears no signature, before its body is read.
pub(crate) fn check_signed(app: &App, request: &Request) -> Result<(), Problem> {
    let Some(calls) = calls(&app.part(), request.head.uri.path()) else { return Ok(()) };
    let terms = calls.terms();
    signature(request, &terms).map(drop).ok_or_else(|| refusal(&terms))
}

/// Returns the signature of a request, unless it is missing or repeated.
fn signature<'r>(request: &'r Request, terms: &CallTerms) -> Option<&'r str> {
    let mut signatures = request.head.headers.get_all(terms.signature_header).iter();
    let first = signatures.next()?.to_str().ok()?;
    signatures.next().is_none().then_some(first)
}

/// Returns the response to a call without a valid signature.
fn refusal(terms: &CallTerms) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "bad_signature", terms.bad_signature)
}

/// The response at an address whose channel has just ended.
fn no_channel() -> Problem {
    Problem::not_found("there is nothing at this address")
}

/// The verification of an address by its platform, which the channel reads.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Verification {
    /// Always `subscribe`.
    #[schemars(rename = "hub.mode")]
    mode: Option<String>,
    /// The word that the owner gave to the platform.
    #[schemars(rename = "hub.verify_token")]
    verify_token: Option<String>,
    /// What is answered.
    #[schemars(rename = "hub.challenge", length(max = MAX_CHALLENGE))]
    challenge: Option<String>,
}

/// The signature of a platform's call.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Signature {
    /// The HMAC-SHA256 of the body under the app's secret in hex, behind `sha256=`.
    #[schemars(rename = "X-Hub-Signature-256", required)]
    signature: Option<String>,
}

/// `GET`: echoes the challenge to a caller that proves who it is.
pub(crate) fn challenge(setup: Setup, request: &Request) -> HandlerResult {
    let query = request.head.uri.query().unwrap_or_default();
    let parameters: Vec<(String, String)> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let calls = calls(&setup, request.head.uri.path()).ok_or_else(no_channel)?;
    let is_plain =
        |text: &String| text.len() <= MAX_CHALLENGE && text.bytes().all(|byte| byte.is_ascii_graphic());
    match calls.challenge(&parameters).filter(is_plain) {
        Some(challenge) => Ok(plain(challenge)),
        None => Err(Problem::new(StatusCode::FORBIDDEN, "bad_verify_token", calls.terms().bad_challenge)),
    }
}

/// `POST`: stores what the platform sends.
pub(crate) async fn take(setup: Setup, mut request: Request) -> HandlerResult {
    let room = request.reserve().await?;
    let body = request.read_raw().await?;
    let calls = calls(&setup, request.head.uri.path()).ok_or_else(no_channel)?;
    let terms = calls.terms();
    let Some(signature) = signature(&request, &terms) else { return Err(refusal(&terms)) };
    match calls.take(signature, &body).await? {
        CallbackOutcome::Stored => Ok(plain("stored".to_owned())),
        CallbackOutcome::Forged => {
            if let Some(room) = room {
                room.penalise();
            }
            Err(refusal(&terms))
        }
        CallbackOutcome::Malformed => {
            Err(Problem::bad_request("bad_json", "the body is not what the platform sends"))
        }
        CallbackOutcome::Busy => Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "queue_full",
            "too many messages wait already; this one may come again",
        )
        .retry_after(RETRY_SECONDS)),
    }
}

/// Returns the channel that is called at this path, if it runs.
fn calls(setup: &Setup, path: &str) -> Option<Arc<dyn PlatformCalls>> {
    let mut called = setup.channels.names().filter_map(|name| setup.channels.get(name).ok()?.calls());
    called.find(|calls| calls.terms().path == path)
}

fn plain(text: String) -> Response {
    let mut answer = response::with_body(StatusCode::OK, text.into_bytes());
    answer.headers_mut().insert(CONTENT_TYPE, PLAIN);
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use aethon_core::channel::{Channel, Delivery, DeliveryError};
    use aethon_core::error::Result;
    use aethon_core::secret::Secret;
    use async_trait::async_trait;

    use super::*;
    use crate::options::Options;
    use crate::service::tests::TestApp;

    const WHATSAPP: &str = "/webhook/whatsapp";

    /// A channel that accepts the word `right` as its platform's signature.
    #[derive(Default)]
    struct Called(Mutex<Vec<String>>);

    #[async_trait]
    impl PlatformCalls for Called {
        fn terms(&self) -> CallTerms {
            CallTerms {
                path: WHATSAPP,
                signature_header: "x-hub-signature-256",
                bad_signature: "it bears no valid signature",
                bad_challenge: "that is not the word",
            }
        }

        fn challenge(&self, parameters: &[(String, String)]) -> Option<String> {
            let value = |name: &str| {
                parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            value("hub.challenge").filter(|_| value("hub.verify_token").as_deref() == Some("w0rd"))
        }

        async fn take(&self, signature: &str, body: &[u8]) -> Result<super::CallbackOutcome> {
            if signature != "sha256=right" {
                return Ok(super::CallbackOutcome::Forged);
            }
            let body = String::from_utf8_lossy(body).into_owned();
            let outcome = match body.as_str() {
                "{" => super::CallbackOutcome::Malformed,
                r#"{"much":1}"# => super::CallbackOutcome::Busy,
                _ => super::CallbackOutcome::Stored,
            };
            self.0.lock().unwrap().push(body);
            Ok(outcome)
        }
    }

    struct Messenger(Arc<Called>);

    #[async_trait]
    impl Channel for Messenger {
        fn name(&self) -> &str {
            "whatsapp"
        }

        async fn send(&self, _delivery: &Delivery) -> Result<(), DeliveryError> {
            Ok(())
        }

        fn calls(&self) -> Option<Arc<dyn PlatformCalls>> {
            Some(self.0.clone())
        }
    }

    const JSON: (&str, &str) = ("content-type", "application/json");
    const RIGHT: (&str, &str) = ("x-hub-signature-256", "sha256=right");

    #[tokio::test]
    async fn platform_calls_are_accepted_by_signature_under_any_host() {
        let called = Arc::new(Called::default());
        let mut options = Options {
            token: Secret::new("t"),
            allowed_hosts: vec!["home.example".into()],
            ..Options::default()
        };
        options.webhooks.enabled = false;
        let app = TestApp::new(options.clone());
        app.run_channel(&options, Arc::new(Messenger(called.clone())));
        let elsewhere = ("host", "hooks.example");
        let seen = app.send("POST", WHATSAPP, &[elsewhere, JSON, RIGHT], r#"{"entry":[]}"#).await;
        assert_eq!((seen.status, seen.body.as_str()), (200, "stored"));
        assert_eq!(seen.header("content-type"), "text/plain; charset=utf-8");
        let other = app.send("POST", "/webhook/other", &[elsewhere, JSON, RIGHT], "{}").await;
        assert_eq!(other.status, 421, "only that address");
        let status = async |headers: &[(&str, &str)], body: &str| {
            app.send("POST", WHATSAPP, headers, body).await.status
        };
        assert_eq!(status(&[JSON], "{}").await, 403);
        assert_eq!(status(&[JSON, ("x-hub-signature-256", "sha256=wrong")], "{}").await, 403);
        assert_eq!(status(&[JSON, RIGHT, RIGHT], "{}").await, 403);
        assert_eq!(status(&[RIGHT], "{}").await, 415);
        assert_eq!(status(&[JSON, RIGHT], "{").await, 400);
        assert_eq!(status(&[JSON, RIGHT], r#"{"much":1}"#).await, 503);
        assert_eq!(status(&[JSON, RIGHT], &"x".repeat(2 << 20)).await, 413);
        assert_eq!(called.0.lock().unwrap().len(), 3, "what is not signed is not read");
        let ask = async |word: &str, challenge: &str| {
            let target =
                format!("{WHATSAPP}?hub.mode=subscribe&hub.verify_token={word}&hub.challenge={challenge}");
            app.get(&target, &[elsewhere]).await
        };
        let asked = ask("w0rd", "1158201444").await;
        assert_eq!((asked.status, asked.body.as_str()), (200, "1158201444"));
        assert_eq!(ask("wrong", "1158201444").await.status, 403);
        assert_eq!(ask("w0rd", "%3Cscript%3E%20x").await.status, 403);
        assert_eq!(app.send("PUT", WHATSAPP, &[JSON, RIGHT], "{}").await.status, 405);
    }

    #[tokio::test]
    async fn without_the_channel_the_address_is_a_webhook_like_others() {
        let app = TestApp::new(Options::default());
        assert_eq!(app.get(WHATSAPP, &[]).await.status, 405);
        let seen = app.send("POST", WHATSAPP, &[JSON], r#"{"text":""}"#).await;
        assert_eq!(seen.status, 422, "{}", seen.body);
    }
}
