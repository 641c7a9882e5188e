//! Requests to Discord, its rate limits, and the meaning of its errors.
//!
//! Discord limits requests by route and channel, reports with each response how many are left, and blocks clients
//! that ignore this. So a route that is used up is not called before its reset; the caller sees that as a pause that
//! Discord asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::exchange::{Exchange, ExchangeRequest, Method};
use aethon_core::secret::Secret;
use serde_json::Value;
use tokio::time::Instant;

use crate::rest::{self, RestAnswer, TIMEOUT};
use crate::socket::is_plain_and_here;
use crate::talk::{Failure, Fault};

/// The longest response that is read, in bytes.
const MAX_ANSWER: usize = 8 << 20;
/// The pause when Discord asks for one without a duration.
const USUAL_PAUSE: Duration = Duration::from_secs(5);
/// How many used-up routes are remembered.
const MAX_ROUTES: usize = 1000;
/// The key of a pause for all routes.
const ALL: &str = "*";
/// The hosts of files.
const FILE_HOSTS: [&str; 6] =
    ["discordapp.com", ".discordapp.com", "discordapp.net", ".discordapp.net", "discord.com", ".discord.com"];
/// The user agent, which Discord requires.
const PROGRAM: &str = concat!("DiscordBot (https://aethon.invalid, ", env!("CARGO_PKG_VERSION"), ")");

/// The message no longer exists.
const UNKNOWN_MESSAGE: u64 = 10008;
/// The message belongs to someone else.
const FOREIGN_MESSAGE: u64 = 50005;

/// Codes of a 403 or 404 about the recipient or the content. Any other may be a slip.
const FINAL: [u64; 15] = [
    10003,   // no such channel
    10004,   // no such server
    10013,   // no such person
    50001,   // no access
    50007,   // the person takes no messages
    50008,   // no channel for text
    50009,   // stricter verification
    50013,   // no permission
    50019,   // not pinnable there
    50083,   // an archived thread
    50278,   // no server in common
    160_005, // a locked thread
    200_000, // moderation
    200_001, 240_000,
];
/// The code of a token that is not valid.
const UNAUTHORIZED: u64 = 40001;

/// The body of a request.
pub(super) enum Body {
    Nothing,
    Json(Value),
    /// A form: content type and bytes.
    Form(String, Vec<u8>),
}

/// Discord's REST API for our bot.
pub(super) struct Api {
    base: String,
    token: Secret,
    exchange: Arc<dyn Exchange>,
    /// When used-up routes become available again.
    closed: Mutex<HashMap<String, Instant>>,
}

impl Api {
    pub(super) fn new(base: &str, token: Secret, exchange: Arc<dyn Exchange>) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), token, exchange, closed: Mutex::default() }
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn token(&self) -> &Secret {
        &self.token
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::Get, path, Body::Nothing).await
    }

    /// Sends a request.
    pub(super) async fn send(&self, method: Method, path: &str, body: Body) -> Result<Value, Failure> {
        let route = route(method, path);
        if let Some(after) = self.is_closed(&route) {
            let message = "Discord takes nothing more there for now".to_owned();
            return Err(Failure::Fault(Fault::Later { message, after: Some(after) }));
        }
        let mut headers = vec![
            ("authorization".to_owned(), format!("Bot {}", self.token.expose())),
            ("user-agent".to_owned(), PROGRAM.to_owned()),
        ];
        let (content_type, body) = match body {
            Body::Nothing => (None, Vec::new()),
            Body::Json(json) => (Some("application/json".to_owned()), json.to_string().into_bytes()),
            Body::Form(content_type, bytes) => (Some(content_type), bytes),
        };
        headers.extend(content_type.map(|content_type| ("content-type".to_owned(), content_type)));
        let request = ExchangeRequest { method, url: format!("{}{path}", self.base), headers, body };
        let answer = rest::ask(&*self.exchange, request, (TIMEOUT * 2, MAX_ANSWER)).await;
        // The path of an interaction response contains a token, so no path appears in errors.
        let answer = answer.map_err(|failure| Failure::Fault(failure.fault("Discord")))?;
        self.note_limits(&route, &answer);
        read(&answer)
    }

    /// Downloads a file of at most `most` bytes. Its address is signed, and its hosts must not see the token.
    pub(super) async fn fetch(&self, address: &str, most: usize) -> Result<Vec<u8>, Fault> {
        let is_here = is_plain_and_here(&self.base) && is_plain_and_here(address);
        if !rest::is_on(address, &FILE_HOSTS) && !is_here {
            return Err(Fault::Refused("the file is not on a host of Discord".into()));
        }
        let headers = vec![("user-agent".to_owned(), PROGRAM.to_owned())];
        let request =
            ExchangeRequest { method: Method::Get, url: address.to_owned(), headers, body: Vec::new() };
        match rest::ask(&*self.exchange, request, (TIMEOUT * 2, most)).await {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Ok(answer) => Err(Fault::Refused(format!("the file is not there ({})", answer.status))),
            Err(failure) => Err(Fault::later(failure.message)),
        }
    }

    /// Returns how long a route is used up, if it is.
    fn is_closed(&self, route: &str) -> Option<Duration> {
        let (now, mut closed) = (Instant::now(), self.closed());
        closed.retain(|_, until| *until > now);
        let until = [route, ALL].iter().filter_map(|name| closed.get(*name)).max()?;
        Some(*until - now)
    }

    fn note_limits(&self, route: &str, answer: &RestAnswer) {
        let number = |name: &str| answer.header(name).and_then(|text| text.trim().parse::<f64>().ok());
        let is_used_up = number("x-ratelimit-remaining") == Some(0.0);
        let resets = number("x-ratelimit-reset-after").filter(|_| is_used_up).and_then(seconds);
        let (route, pause) = match answer.status {
            429 => {
                let is_global =
                    answer.json()["global"] == true || answer.header("x-ratelimit-global").is_some();
                (if is_global { ALL } else { route }, Some(pause(answer)))
            }
            _ => (route, resets),
        };
        let Some(pause) = pause else { return };
        let mut closed = self.closed();
        if closed.len() < MAX_ROUTES {
            closed.insert(route.to_owned(), Instant::now() + pause);
        }
    }

    fn closed(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        // Every statement leaves the map consistent, so a poisoned lock is usable.
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a rate limit: the method, the path without message ids, and the channel in it.
fn route(method: Method, path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["", "channels", channel, rest @ ..] => {
            let rest: Vec<&str> = rest
                .iter()
                .map(|part| if part.bytes().all(|byte| byte.is_ascii_digit()) { "id" } else { part })
                .collect();
            format!("{method:?} {channel} {}", rest.join("/"))
        }
        ["", "interactions", ..] => "interactions".to_owned(),
        _ => format!("{method:?} {path}"),
    }
}

fn pause(answer: &RestAnswer) -> Duration {
    let told = answer.json()["retry_after"].as_f64();
    let header = || answer.header("retry-after").and_then(|text| text.trim().parse().ok());
    told.or_else(header).and_then(seconds).unwrap_or(USUAL_PAUSE)
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 86_400.0)).ok()
}

fn read(answer: &RestAnswer) -> Result<Value, Failure> {
    let told = answer.json();
    let code = told["code"].as_u64().unwrap_or(0);
    let words = told["message"].as_str().unwrap_or("no answer that can be read");
    let message = format!("Discord: {} {words} ({code})", answer.status);
    match answer.status {
        204 => Ok(Value::Null),
        200..=299 if !told.is_null() => Ok(told),
        status if status == 401 || code == UNAUTHORIZED => Err(Failure::Token(
            "Discord does not take the token (401); set channels.discord.token to the one from the developer portal"
                .to_owned(),
        )),
        429 => Err(Failure::Fault(Fault::Later {
            message: "Discord wants a pause".to_owned(),
            after: Some(pause(answer)),
        })),
        400..=499 if code == UNKNOWN_MESSAGE || code == FOREIGN_MESSAGE => {
            Err(Failure::Fault(Fault::Gone(message)))
        }
        403 | 404 if !FINAL.contains(&code) => Err(Failure::Fault(Fault::Unclear(message))),
        400..=499 if code == 0 => Err(Failure::Fault(Fault::Unclear(message))),
        400..=499 => Err(Failure::Fault(Fault::Refused(message))),
        // A keyed message can safely be sent again.
        _ => Err(Failure::Fault(Fault::Doubtful(message))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_counted_by_route_and_channel() {
        let check = |path: &str, expected: &str| assert_eq!(route(Method::Patch, path), expected);
        check("/channels/1/messages/22", "Patch 1 messages/id");
        check("/channels/2/messages?after=3&limit=100", "Patch 2 messages");
        check("/interactions/1/secret/callback", "interactions");
        check("/users/@me", "Patch /users/@me");
    }
}
