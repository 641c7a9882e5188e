//! The client of the running daemon: its address and its JSON API.

use std::path::Path;
use std::time::Duration;

use aethon::{Home, Prepared};
use anyhow::{Context, Result};
use serde_json::Value;
use ureq::unversioned::resolver::DefaultResolver;

use crate::unix_socket::UnixConnector;

/// The time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The maximum size of an answer; an export with many pictures is large.
const MAX_BODY: u64 = 1 << 30;

/// A reachable daemon.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    /// Its base address, without a trailing slash: of http, or `unix:PATH`.
    pub(crate) base: String,
    /// The same as the HTTP client wants it.
    url: String,
    token: String,
    agent: ureq::Agent,
    /// Whether the user named it.
    is_named: bool,
}

/// Finds the daemon, again after each restart.
#[derive(Debug, Clone)]
pub(crate) struct Finder {
    home: Home,
    token: String,
    /// Whether a daemon of this configuration listens at all.
    listens: bool,
    /// The address that the user gave.
    connect: Option<String>,
}

impl Finder {
    /// Looks at `connect`, or on this home.
    pub(crate) fn new(prepared: &Prepared, connect: Option<&str>) -> Self {
        let token = prepared.config().dashboard.auth_token.expose().trim().to_owned();
        let listens = prepared.config().channels.webchat.enabled;
        Self { home: prepared.home().clone(), token, listens, connect: connect.map(str::to_owned) }
    }

    /// Returns whether the user named the daemon, so that nothing else will do.
    pub(crate) fn is_named(&self) -> bool {
        self.connect.is_some()
    }

    /// Returns whether a daemon that listens holds the home, even if it has not published its address yet.
    pub(crate) fn is_expected(&self) -> bool {
        self.is_named() || self.listens && self.home.has_daemon()
    }

    /// Returns the daemon if it has an address.
    pub(crate) fn find(&self) -> Result<Option<Daemon>> {
        let base = match &self.connect {
            Some(address) => Some(checked(address)?),
            None => self.home.running_daemon(),
        };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Ok(base.map(|base| {
            let (url, agent) = match socket_of(&base) {
                None => (base.clone(), config.into()),
                Some(path) => {
                    let connector = UnixConnector(path.to_owned());
                    let agent = ureq::Agent::with_parts(config, connector, DefaultResolver::default());
                    // The address of the request does not matter, but its host must be one of this machine.
                    ("http://127.0.0.1".to_owned(), agent)
                }
            };
            Daemon { base, url, token: self.token.clone(), agent, is_named: self.is_named() }
        }))
    }
}

impl Daemon {
    /// Returns the path of its Unix socket, if it has no port.
    pub(crate) fn socket(&self) -> Option<&Path> {
        socket_of(&self.base)
    }

    /// Returns the address of a WebSocket of it.
    pub(crate) fn socket_address(&self, path: &str) -> String {
        format!("{}{path}", self.url.replacen("http", "ws", 1))
    }

    /// Returns the token as a header value, if set.
    pub(crate) fn authorization(&self) -> Option<String> {
        (!self.token.is_empty()).then(|| format!("Bearer {}", self.token))
    }

    /// Sends a GET for JSON.
    pub(crate) async fn get(&self, path: String) -> Result<Value> {
        self.call("GET", path).await
    }

    /// Sends a GET for JSON that may not exist.
    pub(crate) async fn find_json(&self, path: String) -> Result<Option<Value>> {
        match self.get(path).await {
            Err(error) if error.downcast_ref::<StatusError>().is_some_and(|answer| answer.status == 404) => {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Sends a DELETE.
    pub(crate) async fn delete(&self, path: String) -> Result<Value> {
        self.call("DELETE", path).await
    }

    /// Sends a POST with JSON.
    pub(crate) async fn post(&self, path: String, body: &Value) -> Result<Value> {
        let (daemon, body) = (self.clone(), body.to_string());
        let answer = tokio::task::spawn_blocking(move || daemon.post_blocking(&path, &body)).await;
        Ok(serde_json::from_str(&answer.context("the request was cut off")??).unwrap_or(Value::Null))
    }

    /// Sends a POST with JSON whose outcome is the same if it arrives twice.
    pub(crate) async fn post_again(&self, path: String, body: &Value) -> Result<Value> {
        self.post(path, body).await.map_err(repeatable)
    }

    /// Uploads a file for a message. Uploading it twice harms nothing: what no message uses is removed.
    pub(crate) async fn upload(&self, name: &str, mime: &'static str, bytes: Vec<u8>) -> Result<Value> {
        let (daemon, path) = (self.clone(), format!("/api/uploads?name={}", encoded(name)));
        let answer = tokio::task::spawn_blocking(move || {
            let request = daemon.with_token(daemon.agent.put(format!("{}{path}", daemon.url)));
            daemon.answer(request.header("Content-Type", mime).send(&bytes[..]))
        });
        Ok(serde_json::from_str(&answer.await.context("the request was cut off")??).unwrap_or(Value::Null))
    }

    /// Sends a GET for a file that may not exist.
    pub(crate) async fn find_text(&self, path: String) -> Result<Option<String>> {
        match self.call_text("GET", path).await {
            Err(error) if status_of(&error) == Some(404) => Ok(None),
            other => other.map(Some),
        }
    }

    async fn call(&self, method: &'static str, path: String) -> Result<Value> {
        let body = self.call_text(method, path).await?;
        Ok(serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    async fn call_text(&self, method: &'static str, path: String) -> Result<String> {
        let daemon = self.clone();
        tokio::task::spawn_blocking(move || daemon.call_blocking(method, &path))
            .await
            .context("the request was cut off")?
    }

    fn call_blocking(&self, method: &str, path: &str) -> Result<String> {
        let address = format!("{}{path}", self.url);
        match method {
            "DELETE" => self.answer(self.with_token(self.agent.delete(&address)).call()),
            _ => self.answer(self.with_token(self.agent.get(&address)).call()).map_err(repeatable),
        }
    }

    fn post_blocking(&self, path: &str, body: &str) -> Result<String> {
        let request = self.with_token(self.agent.post(format!("{}{path}", self.url)));
        self.answer(request.header("Content-Type", "application/json").send(body))
    }

    fn answer(&self, response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<String> {
        let unanswered = |error| Unanswered::by(&self.base, self.is_named, error);
        let mut response = response.map_err(unanswered)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_BODY).read_to_string();
        let body = body.map_err(unanswered)?;
        match status {
            200..=299 => Ok(body),
            401 => Err(StatusError { status, detail: self.unauthorised(), is_ending: false }.into()),
            _ => {
                let problem: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
                let detail = problem["detail"].as_str().map_or_else(
                    || {
                        format!(
                            "{} answers with status {status}, and not as an aethon-server does",
                            self.base
                        )
                    },
                    str::to_owned,
                );
                let is_ending = status == 503 && problem["code"] == "shutting_down";
                Err(StatusError { status, detail, is_ending }.into())
            }
        }
    }

    fn unauthorised(&self) -> String {
        match self.token.is_empty() {
            true => format!(
                "aethon-server at {} wants its token: set dashboard.auth_token, or AETHON_DASHBOARD__AUTH_TOKEN",
                self.base
            ),
            false => format!(
                "aethon-server at {} does not take this token: dashboard.auth_token (or AETHON_DASHBOARD__AUTH_TOKEN) is another one \
                 there, or has changed since it started",
                self.base
            ),
        }
    }

    fn with_token<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match self.authorization() {
            Some(value) => request.header("Authorization", value),
            None => request,
        }
    }
}

/// Returns whether repeating a failed request is pointless: the daemon answered, and is not just stopping.
pub(crate) fn is_final(error: &anyhow::Error) -> bool {
    let is_stopping = error.downcast_ref::<StatusError>().is_some_and(|answer| answer.status == 503);
    !is_stopping && !error.chain().any(|cause| cause.is::<ureq::Error>() || cause.is::<Unanswered>())
}

/// Returns the status of an error response.
pub(crate) fn status_of(error: &anyhow::Error) -> Option<u16> {
    error.downcast_ref::<StatusError>().map(|answer| answer.status)
}

/// Returns whether the same request can be sent again: the daemon did not get it, or it changes nothing the second time.
pub(crate) fn may_repeat(error: &anyhow::Error) -> bool {
    let is_ending = error.downcast_ref::<StatusError>().is_some_and(|answer| answer.is_ending);
    is_ending || error.downcast_ref::<Unanswered>().is_some_and(|unanswered| unanswered.may_repeat)
}

/// Marks the failure of a request that changes nothing the second time. One that took too long would take as long again.
fn repeatable(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Unanswered>() {
        Ok(unanswered) => {
            let Unanswered { plain: words, is_late, .. } = unanswered;
            Unanswered { plain: words.clone(), words, is_late, may_repeat: !is_late }.into()
        }
        Err(other) => other,
    }
}

/// Replaces the answer that something does not exist by words that fit the terminal.
pub(crate) fn or_missing<T>(answer: Result<T>, words: impl FnOnce() -> String) -> Result<T> {
    answer.map_err(|error| match status_of(&error) {
        Some(404) => anyhow::Error::msg(words()),
        _ => error,
    })
}

/// A missing answer, described for users.
#[derive(Debug)]
struct Unanswered {
    words: String,
    /// The same without the doubt whether the request was carried out.
    plain: String,
    is_late: bool,
    may_repeat: bool,
}

impl Unanswered {
    fn by(base: &str, is_named: bool, error: ureq::Error) -> Self {
        let what = match is_named {
            true => format!("aethon-server at {base}"),
            false => format!("the aethon-server of this home, at {base},"),
        };
        let remedy = match is_named {
            true => "start it, or correct --connect",
            false => "it may be starting or stopping; try again in a moment",
        };
        let unsent = |plain: String| Self { words: plain.clone(), plain, is_late: false, may_repeat: true };
        let sent = |plain: String, is_late| {
            let words = format!("{plain}; whether the request was carried out is not known");
            Self { words, plain, is_late, may_repeat: false }
        };
        use std::io::ErrorKind::{ConnectionRefused, NotFound};
        match error {
            ureq::Error::Io(error) if matches!(error.kind(), ConnectionRefused | NotFound) => {
                unsent(format!("{what} does not listen: {remedy}"))
            }
            error if is_unknown_host(&error) => Self {
                may_repeat: false,
                ..unsent(format!("the name of the host in {base} is not known: {remedy}"))
            },
            error if speaks_plainly(&error) => Self {
                may_repeat: false,
                ..unsent(format!(
                    "{what} does not speak https: write http:// instead, or name the port that does"
                ))
            },
            ureq::Error::Timeout(_) => sent(format!("{what} does not answer in time"), true),
            error => sent(format!("{what} does not answer: {error}"), false),
        }
    }
}

/// Whether a name has no address. The resolver of the system has no kind of its own for that.
fn is_unknown_host(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound => true,
        ureq::Error::Io(error) => error.to_string().contains("failed to lookup address"),
        _ => false,
    }
}

/// Whether what answered a TLS greeting was no TLS.
fn speaks_plainly(error: &ureq::Error) -> bool {
    error.to_string().contains("InvalidContentType")
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Unanswered {}

/// An error response, with the daemon's message.
#[derive(Debug)]
struct StatusError {
    status: u16,
    detail: String,
    /// Whether the daemon was stopping.
    is_ending: bool,
}

impl std::fmt::Display for StatusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for StatusError {}

/// Percent-encodes a text for use in an address.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// Returns the path in `unix:PATH`.
fn socket_of(base: &str) -> Option<&Path> {
    base.strip_prefix("unix:").filter(|path| !path.is_empty()).map(Path::new)
}

fn checked(address: &str) -> Result<String> {
    if socket_of(address).is_some() {
        return Ok(address.to_owned());
    }
    let base = address.trim_end_matches('/');
    let is_plain = !base.contains(['?', '#', '@']);
    if is_plain && (base.starts_with("http://") || base.starts_with("https://")) {
        return Ok(base.to_owned());
    }
    // Query and fragment are not shown: people put tokens there.
    let shown = address.split(['?', '#']).next().unwrap_or_default();
    let words = format!(
        "--connect {shown:?} is not an address: use one like http://127.0.0.1:18790 or unix:/run/user/1000/aethon.sock"
    );
    Err(aethon::Error::refused(words).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(is_named: bool, kind: std::io::ErrorKind) -> anyhow::Error {
        Unanswered::by("http://127.0.0.1:1", is_named, ureq::Error::Io(kind.into())).into()
    }

    #[test]
    fn an_unreachable_daemon_is_explained_and_may_come_back() {
        let error = by(true, std::io::ErrorKind::ConnectionRefused);
        let words = format!("{error:#}");
        assert_eq!(
            words,
            "aethon-server at http://127.0.0.1:1 does not listen: start it, or correct --connect"
        );
        assert!(!is_final(&error), "it may be starting");
        let answer =
            |status| anyhow::Error::new(StatusError { status, detail: String::new(), is_ending: false });
        assert!(is_final(&answer(404)));
        assert!(!is_final(&answer(503)));
    }

    #[test]
    fn an_error_for_a_found_address_does_not_blame_the_user() {
        for kind in [std::io::ErrorKind::ConnectionRefused, std::io::ErrorKind::ConnectionReset] {
            let words = by(false, kind).to_string();
            assert!(!words.contains("--connect") && words.contains("of this home"), "{words}");
        }
    }

    #[test]
    fn requests_are_repeated_only_if_harmless() {
        use std::io::ErrorKind::{ConnectionRefused, ConnectionReset};
        assert!(may_repeat(&by(false, ConnectionRefused)), "it was not sent");
        let reset = by(false, ConnectionReset);
        assert!(!may_repeat(&reset) && reset.to_string().contains("not known"), "{reset}");
        let read = repeatable(reset);
        assert!(may_repeat(&read) && !read.to_string().contains("not known"), "{read}");
        let late = Unanswered::by("x", false, ureq::Error::Timeout(ureq::Timeout::Global));
        assert!(!may_repeat(&repeatable(late.into())), "it would take as long again");
    }
}
