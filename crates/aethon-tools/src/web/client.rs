//! Sends one request and reads one bounded response; all web tools use it.
//!
//! A request runs on the blocking pool with an agent of its own, which can be shut down from outside: dropping the
//! future closes the socket under the thread that is blocked on it. Proxies from the environment are ignored, and the
//! library follows no redirects by itself.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::turn::Trust;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::{self, HeaderMap, HeaderName, HeaderValue, Method, header};
use ureq::unversioned::transport::{Connector as _, TcpConnector};

use super::body::{Body, read};
use super::connect::{FilteredConnector, HostResolver, Tls};
use super::failure::WebError;
use super::options::{Names, WebOptions};
use super::refusal::Refusal;
use super::rules::Rules;
use super::target::Target;
use crate::slots::SharedSlots;

/// Timeout for connecting, after the name is resolved.
const CONNECT: Duration = Duration::from_secs(10);
/// Timeout for the next bytes.
const SILENCE: Duration = Duration::from_secs(15);
/// Maximum number of concurrent requests; further ones wait, and those of strangers leave the last ones to the owner. A
/// DNS lookup cannot be aborted, so this bounds the threads, too.
const MAX_AT_ONCE: usize = 8;
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;

/// Sends the requests of the web tools.
pub(super) struct WebClient {
    rules: Arc<Rules>,
    names: Option<Arc<dyn Names>>,
    config: Config,
    tls: Tls,
    slots: SharedSlots,
    timeout: Duration,
}

/// A request.
#[derive(Debug)]
pub(super) struct WebRequest {
    pub(super) target: Target,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// If present, the request is a POST, otherwise a GET.
    pub(super) body: Option<Vec<u8>>,
}

/// A response.
#[derive(Debug)]
pub(super) struct WebResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// Decides by status and headers how many bytes of a body to read.
pub(super) type BodyLimit = fn(u16, &HeaderMap) -> usize;

/// A response and how it was reached.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) response: WebResponse,
    /// Where it finally came from.
    pub(super) target: Target,
    /// Number of redirects followed.
    pub(super) redirects: usize,
}

impl WebClient {
    /// Creates a client with these rules.
    pub(super) fn new(rules: Rules, options: &WebOptions) -> Self {
        let timeout = options.timeout;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_idle_connections(0)
            .accept_encoding("gzip")
            .timeout_global(Some(timeout))
            .timeout_resolve(Some(CONNECT.min(timeout)))
            .timeout_connect(Some(CONNECT.min(timeout)))
            .timeout_per_read(Some(SILENCE.min(timeout)))
            .timeout_per_write(Some(SILENCE.min(timeout)))
            .user_agent(concat!("aethon/", env!("CARGO_PKG_VERSION")))
            .build();
        let slots = SharedSlots::of(MAX_AT_ONCE);
        let rules = Arc::new(rules);
        Self { rules, names: options.names.clone(), config, tls: Tls::default(), slots, timeout }
    }

    /// Returns the timeout of a request.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Fetches a page and follows redirects, as long as each step is allowed.
    pub(super) async fn get(
        &self,
        mut target: Target,
        headers: &[(HeaderName, HeaderValue)],
        trust: Trust,
        body_limit: BodyLimit,
    ) -> Result<Fetched, WebError> {
        let mut visited = vec![target.as_str().to_owned()];
        loop {
            let request = WebRequest { target: target.clone(), headers: headers.to_vec(), body: None };
            let response = self.exchange(request, trust, body_limit).await?;
            let redirects = visited.len() - 1;
            let Some(location) = location(&response) else {
                return Ok(Fetched { response, target, redirects });
            };
            target = target.redirected(&location)?;
            if visited.iter().any(|seen| seen == target.as_str()) {
                let place = target.host_and_port();
                return Err(WebError::failed(format!("the redirects of {place} go in a circle")));
            }
            if redirects == MAX_REDIRECTS {
                let place = target.host_and_port();
                return Err(WebError::failed(format!(
                    "more than {MAX_REDIRECTS} redirects, the last one to {place}"
                )));
            }
            visited.push(target.as_str().to_owned());
        }
    }

    /// Sends a single request. A redirect is refused: the data and keys of a request are meant for one place only.
    pub(super) async fn send(
        &self,
        request: WebRequest,
        trust: Trust,
        body_limit: BodyLimit,
    ) -> Result<WebResponse, WebError> {
        let target = request.target.clone();
        let response = self.exchange(request, trust, body_limit).await?;
        match location(&response) {
            None => Ok(response),
            Some(location) => {
                let to = target
                    .redirected(&location)
                    .map_or_else(|_| "another place".into(), |to| to.host_and_port());
                Err(Refusal::redirect(&target.host_and_port(), &to).into())
            }
        }
    }

    async fn exchange(
        &self,
        request: WebRequest,
        trust: Trust,
        body_limit: BodyLimit,
    ) -> Result<WebResponse, WebError> {
        let ended = || WebError::failed("the request was given up, because the program is stopping");
        let slot = self.slots.take(trust).await;
        let agent = self.agent();
        let cut = CutOnDrop(Some(agent.clone()));
        let timeout = self.timeout;
        let running = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            run(&agent, request, body_limit, timeout)
        });
        let outcome = running.await.unwrap_or_else(|_| Err(ended()));
        drop(cut);
        outcome
    }

    fn agent(&self) -> Agent {
        let connector = FilteredConnector { rules: self.rules.clone(), tcp: TcpConnector::default() };
        let resolver = HostResolver { names: self.names.clone() };
        Agent::with_parts(self.config.clone(), ().chain(connector).chain(self.tls.clone()), resolver)
    }
}

fn run(
    agent: &Agent,
    request: WebRequest,
    body_limit: BodyLimit,
    timeout: Duration,
) -> Result<WebResponse, WebError> {
    let place = request.target.host_and_port();
    let failed = |error| WebError::of(error, &place, timeout);
    let mut head = http::Request::builder().uri(request.target.as_str());
    for (name, value) in request.headers {
        head = head.header(name, value);
    }
    let response = match request.body {
        None => agent.run(head.method(Method::GET).body(()).map_err(|error| failed(error.into()))?),
        Some(body) => agent.run(head.method(Method::POST).body(body).map_err(|error| failed(error.into()))?),
    };
    let (parts, body) = response.map_err(failed)?.into_parts();
    let status = parts.status.as_u16();
    let most = if is_redirect(status) { 0 } else { body_limit(status, &parts.headers) };
    let body = read(body.into_reader(), &parts.headers, most).map_err(|error| failed(error.into()))?;
    Ok(WebResponse { status, headers: parts.headers, body })
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns the target of a redirect.
fn location(response: &WebResponse) -> Option<String> {
    let location = response.headers.get(header::LOCATION).filter(|_| is_redirect(response.status))?;
    // Some servers forget to encode spaces.
    Some(String::from_utf8_lossy(location.as_bytes()).trim().replace(' ', "%20"))
}

/// Aborts the request of an agent when its caller is gone.
struct CutOnDrop(Option<Agent>);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        if let Some(agent) = self.0.take() {
            agent.shutdown();
        }
    }
}
