//! Calls of the Bot API, and the meaning of its errors.
//!
//! The token is part of every address, so it is removed from anything that an exchange says about an address.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wire::Envelope;
use crate::rest::{self, RequestFailure, TIMEOUT};
use crate::talk::Fault;

/// The content type of parameters.
const JSON: &str = "application/json";

/// The methods that older servers lack.
const NEWER_METHODS: [&str; 2] = ["sendMessageDraft", "sendRichMessage"];

/// Telegram's words for a recipient that cannot be reached. Any other 403 may be a slip.
const UNREACHABLE: [&str; 14] = [
    "bot was blocked by the user",
    "user is deactivated",
    "can't initiate conversation",
    "can't send messages to bots",
    "bot was kicked",
    "bot is not a member",
    "bot is not participating",
    "not enough rights",
    "have no rights",
    "need administrator rights",
    "group chat was deleted",
    "chat_write_forbidden",
    "user_privacy_restricted",
    "topic_closed",
];

/// The longest response that is read, in bytes.
const MAX_ANSWER: usize = 8 << 20;
/// How much longer a call may take that waits for updates.
const POLL_TIMEOUT: Duration = Duration::from_secs(75);

/// How a call failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The token is rejected.
    Token(String),
    /// Another program polls, or a webhook is set.
    Conflict(String),
    /// The group has a new id.
    Moved(i64),
    /// The server rejects this kind of message, or does not know it at all.
    Unfit { message: String, is_unknown: bool },
    /// A failure common to all platforms.
    Fault(Fault),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Identity(message),
            Failure::Conflict(message) => Self::later(message),
            Failure::Unfit { message, .. } => Self::Refused(message),
            Failure::Moved(_) => Self::later("the group has another id now"),
            Failure::Fault(fault) => fault,
        }
    }
}

/// The Bot API for one bot.
pub(super) struct Api {
    base: String,
    token: Secret,
    exchange: Arc<dyn Exchange>,
    polling: Arc<dyn Exchange>,
}

impl Api {
    pub(super) fn new(
        base: &str,
        token: Secret,
        exchange: Arc<dyn Exchange>,
        polling: Arc<dyn Exchange>,
    ) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), token, exchange, polling }
    }

    /// Returns whether a token is set.
    pub(super) fn has_token(&self) -> bool {
        !self.token.is_empty()
    }

    /// Calls a method.
    pub(super) async fn call<T: DeserializeOwned>(&self, method: &str, params: &Value) -> Result<T, Failure> {
        self.ask(&self.exchange, method, JSON.to_owned(), params.to_string().into_bytes(), TIMEOUT).await
    }

    /// Calls a method that waits for updates.
    pub(super) async fn poll<T: DeserializeOwned>(&self, method: &str, params: &Value) -> Result<T, Failure> {
        self.ask(&self.polling, method, JSON.to_owned(), params.to_string().into_bytes(), POLL_TIMEOUT).await
    }

    /// Calls a method with a form that contains a file.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: (String, Vec<u8>),
    ) -> Result<T, Failure> {
        let (content_type, body) = form;
        self.ask(&self.exchange, method, content_type, body, TIMEOUT * 2).await
    }

    /// Downloads a file of at most `most` bytes from this path.
    pub(super) async fn fetch(&self, path: &str, most: usize) -> Result<Vec<u8>, Fault> {
        let is_plain = path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
            && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        if !is_plain {
            return Err(Fault::Refused("the path of the file is not one".into()));
        }
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose());
        let request = ExchangeRequest { method: Method::Get, url, headers: Vec::new(), body: Vec::new() };
        match rest::ask(&*self.exchange, request, (TIMEOUT * 2, most + 1)).await {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) => Err(Fault::Refused(format!("the file is not there ({})", answer.status))),
            Err(failure) => Err(Fault::later(self.redacted(&failure.message))),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        exchange: &Arc<dyn Exchange>,
        method: &str,
        content_type: String,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<T, Failure> {
        let url = format!("{}/bot{}/{method}", self.base, self.token.expose());
        let headers = vec![("content-type".to_owned(), content_type)];
        let request = ExchangeRequest { method: Method::Post, url, headers, body };
        let answer = rest::ask(&**exchange, request, (timeout, MAX_ANSWER)).await;
        let rest::RestAnswer { status, body: answer, .. } = answer.map_err(|failure| {
            let message = self.redacted(&failure.message);
            Failure::Fault(RequestFailure { message, ..failure }.fault(method))
        })?;
        let Ok(envelope) = serde_json::from_slice::<Envelope>(&answer) else {
            return Err(Failure::Fault(unreadable(method, status)));
        };
        if !envelope.ok {
            return Err(self.failure(method, status, envelope));
        }
        serde_json::from_value(envelope.result).map_err(|_| {
            // The call succeeded, but its result is not as documented.
            Failure::Fault(Fault::Doubtful(format!("{method}: the answer is not what is expected")))
        })
    }

    fn failure(&self, method: &str, status: u16, envelope: Envelope) -> Failure {
        let description = self.redacted(&envelope.description);
        let message = format!("{method}: {status} {description}");
        if let Some(chat) = envelope.parameters.migrate_to_chat_id {
            return Failure::Moved(chat);
        }
        let says = |words: &str| description.to_ascii_lowercase().contains(words);
        match status {
            400 | 404 if NEWER_METHODS.contains(&method) && !says("chat not found") => {
                Failure::Unfit { message, is_unknown: status == 404 || says("method not found") }
            }
            // An older server expects a text when a rich message replaces a message.
            400 if says("message text is empty") => Failure::Unfit { message, is_unknown: true },
            401 | 404 if !says("chat") && !says("message") && !says("file") => Failure::Token(format!(
                "Telegram does not take the token ({status}); set channels.telegram.token to the one from BotFather"
            )),
            409 => Failure::Conflict(message),
            429 => {
                let after = envelope.parameters.retry_after.unwrap_or(5).max(1);
                Failure::Fault(Fault::Later { message, after: Some(Duration::from_secs(after)) })
            }
            400 if says("message to edit not found") || says("message can't be edited") => {
                Failure::Fault(Fault::Gone(message))
            }
            403 if !UNREACHABLE.iter().any(|words| says(words)) => Failure::Fault(Fault::Unclear(message)),
            // A text is never too large for a request, but a file may be.
            413 if !method.starts_with("send") || method == "sendMessage" => {
                Failure::Fault(Fault::Unclear(message))
            }
            400..=499 => Failure::Fault(Fault::Refused(message)),
            // The server itself says that nothing was done.
            _ => Failure::Fault(Fault::later(message)),
        }
    }

    fn redacted(&self, text: &str) -> String {
        if self.token.is_empty() { text.to_owned() } else { text.replace(self.token.expose(), "***") }
    }
}

/// Interprets a response that is not from the Bot API, but from a proxy in front of it, say.
fn unreadable(method: &str, status: u16) -> Fault {
    let message = format!("{method}: {status} without an answer that can be read");
    match status {
        502 | 503 => Fault::later(message),
        400..=499 => Fault::Unclear(message),
        _ => Fault::Doubtful(message),
    }
}
