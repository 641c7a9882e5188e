//! Calls of the Web API, and the meaning of its errors, which come as a code with status 200.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use serde_json::Value;

use crate::rest::{self, TIMEOUT, encoded};
use crate::socket::is_plain_and_here;
use crate::talk::{Failure, Fault};

/// The longest response that is read, in bytes.
const MAX_ANSWER: usize = 8 << 20;
/// The pause when Slack asks for one without a duration.
const USUAL_PAUSE: Duration = Duration::from_secs(30);

/// Error codes for a token that does not work and will not.
const TOKEN: [&str; 8] = [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "no_permission",
    "org_login_required",
];
/// Error codes about our access as a whole, which may come and go.
const UNCLEAR: [&str; 8] = [
    "access_denied",
    "accesslimited",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "team_access_not_granted",
    "two_factor_setup_required",
    "request_not_allowed",
    "org_resource_disabled",
];
/// Error codes for a message that can no longer be edited.
const GONE: [&str; 5] = [
    "message_not_found",
    "cant_update_message",
    "edit_window_closed",
    "is_inactive",
    "message_not_in_streaming_state",
];
/// Error codes that leave it open whether the call took effect.
const DOUBTFUL: [&str; 2] = ["internal_error", "fatal_error"];
/// Error codes for temporary failures.
const LATER: [&str; 3] = ["service_unavailable", "request_timeout", "team_added_to_org"];

/// Which of the two tokens a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Bot,
    App,
}

impl Token {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Bot => "channels.slack.bot_token",
            Self::App => "channels.slack.app_token",
        }
    }
}

/// The Web API for our app.
pub(super) struct Api {
    base: String,
    bot: Secret,
    app: Secret,
    exchange: Arc<dyn Exchange>,
}

impl Api {
    pub(super) fn new(base: &str, (bot, app): (Secret, Secret), exchange: Arc<dyn Exchange>) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), bot, app, exchange }
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the first token that is not set.
    pub(super) fn missing(&self) -> Option<Token> {
        [Token::Bot, Token::App].into_iter().find(|token| self.token(*token).is_empty())
    }

    /// Calls a method.
    pub(super) async fn call(&self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.post(method, Token::Bot, params).await
    }

    /// Calls a method with one of the tokens.
    pub(super) async fn post(&self, method: &str, token: Token, params: &Value) -> Result<Value, Failure> {
        let body = ("application/json; charset=utf-8", params.to_string().into_bytes());
        let (content_type, body) = body;
        let url = format!("{}/{method}", self.base);
        self.ask(HttpCall { name: method, token, method: Method::Post, url, content_type, body }).await
    }

    /// Calls a read method, which does not accept JSON.
    pub(super) async fn get(&self, method: &str, params: &[(&str, &str)]) -> Result<Value, Failure> {
        let pairs: Vec<String> =
            params.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let url = format!("{}/{method}?{}", self.base, pairs.join("&"));
        let call = HttpCall {
            name: method,
            token: Token::Bot,
            method: Method::Get,
            url,
            content_type: "",
            body: Vec::new(),
        };
        self.ask(call).await
    }

    /// Uploads the bytes of a file to the address Slack gave. This needs no token.
    pub(super) async fn upload(&self, address: &str, bytes: Vec<u8>) -> Result<(), Fault> {
        self.is_slack(address)?;
        let headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
        let request = ExchangeRequest { method: Method::Post, url: address.to_owned(), headers, body: bytes };
        // Nothing is shown until the upload is completed, so a doubtful one counts as not done.
        match rest::ask(&*self.exchange, request, (TIMEOUT * 2, MAX_ANSWER)).await {
            Ok(answer) if answer.status == 200 => Ok(()),
            Ok(answer) if answer.status == 429 => Err(wants_pause("the upload", &answer)),
            Ok(answer) => Err(Fault::later(format!("Slack does not take the file ({})", answer.status))),
            // The address contains a ticket, so it must not appear in the error.
            Err(_) => Err(Fault::later("Slack did not take the file")),
        }
    }

    /// Downloads a file of at most `most` bytes.
    pub(super) async fn fetch(&self, address: &str, is_page: bool, most: usize) -> Result<Vec<u8>, Fault> {
        self.is_slack(address)?;
        let headers = vec![authorization(&self.bot)];
        let request =
            ExchangeRequest { method: Method::Get, url: address.to_owned(), headers, body: Vec::new() };
        let answer = rest::ask(&*self.exchange, request, (TIMEOUT * 2, most)).await;
        let answer = answer.map_err(|failure| Fault::later(failure.message))?;
        let kind = answer.header("content-type").unwrap_or_default();
        // Without access, Slack returns a sign-in page instead of the file.
        if answer.status != 200 || (kind.starts_with("text/html") && !is_page) {
            return Err(Fault::Refused(format!(
                "Slack does not give the file ({}); the app needs the scope files:read",
                answer.status
            )));
        }
        Ok(answer.body)
    }

    /// Checks that an address is on Slack's own hosts; no other host may see the token.
    fn is_slack(&self, address: &str) -> Result<(), Fault> {
        let is_here = is_plain_and_here(&self.base) && is_plain_and_here(address);
        if is_here || rest::is_on(address, &["slack.com", ".slack.com"]) {
            return Ok(());
        }
        Err(Fault::Refused("the file is not on a host of Slack".into()))
    }

    async fn ask(&self, call: HttpCall<'_>) -> Result<Value, Failure> {
        let HttpCall { name, token, method, url, content_type, body } = call;
        let mut headers = vec![authorization(self.token(token))];
        if !content_type.is_empty() {
            headers.push(("content-type".to_owned(), content_type.to_owned()));
        }
        let request = ExchangeRequest { method, url, headers, body };
        let answer = rest::ask(&*self.exchange, request, (TIMEOUT, MAX_ANSWER)).await;
        let answer = answer.map_err(|failure| Failure::Fault(failure.fault(name)))?;
        let told = answer.json();
        match (answer.status, told["error"].as_str()) {
            (429, _) | (_, Some("ratelimited" | "rate_limited")) => {
                Err(Failure::Fault(wants_pause(name, &answer)))
            }
            (200, None) if told["ok"] == true => Ok(told),
            (_, Some(error)) => Err(failure((name, token), error, &told)),
            (400..=499, None) => Err(Failure::Fault(Fault::Unclear(format!("{name}: {}", answer.status)))),
            // From a front end, including any 502, which does not know what became of the request.
            (status, None) => Err(Failure::Fault(Fault::Doubtful(format!(
                "{name}: {status} without an answer that can be read"
            )))),
        }
    }

    fn token(&self, token: Token) -> &Secret {
        match token {
            Token::Bot => &self.bot,
            Token::App => &self.app,
        }
    }
}

/// A call of Slack.
struct HttpCall<'a> {
    /// The method of the API, for messages.
    name: &'a str,
    token: Token,
    method: Method,
    url: String,
    /// Empty without a body.
    content_type: &'a str,
    body: Vec<u8>,
}

fn authorization(token: &Secret) -> (String, String) {
    ("authorization".to_owned(), format!("Bearer {}", token.expose()))
}

fn wants_pause(name: &str, answer: &rest::RestAnswer) -> Fault {
    let pause = answer.header("retry-after").and_then(|pause| pause.trim().parse().ok());
    let after = pause.map_or(USUAL_PAUSE, Duration::from_secs);
    Fault::Later { message: format!("{name}: Slack wants a pause"), after: Some(after) }
}

fn failure((name, token): (&str, Token), error: &str, told: &Value) -> Failure {
    let message = format!("{name}: {error}");
    let key = token.key();
    if TOKEN.contains(&error) {
        return Failure::Token(format!("Slack does not take the token ({error}); set {key}"));
    }
    Failure::Fault(match error {
        "missing_scope" => {
            let needed = told["needed"].as_str().unwrap_or("one that is named nowhere");
            let message = format!(
                "{name}: the app lacks the scope {needed}; add it, install the app again and set {key}"
            );
            // Without this token, there is no socket at all.
            if token == Token::App {
                return Failure::Token(message);
            }
            Fault::Refused(message)
        }
        error if UNCLEAR.contains(&error) => Fault::Unclear(message),
        error if GONE.contains(&error) => Fault::Gone(message),
        error if DOUBTFUL.contains(&error) => Fault::Doubtful(message),
        error if LATER.contains(&error) => Fault::later(message),
        _ => Fault::Refused(message),
    })
}
