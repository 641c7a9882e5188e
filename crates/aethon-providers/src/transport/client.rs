//! Sends requests on the blocking pool and keeps idle connections.
//!
//! Every request has its own agent while it runs, because an agent can be shut down from outside, which closes the
//! socket under the thread that is blocked on it. After a body was read to its end, the agent, with its one idle
//! connection, waits here for the next request.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::{self, HeaderMap, HeaderName, HeaderValue};

use super::body::{Body, Lease};
use super::failure::{Failure, Limits};
use super::unpacking::Unpacking;

/// The longest wait for a connection, including DNS and TLS.
const CONNECT: Duration = Duration::from_secs(15);
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);
/// How many idle connections are kept.
const IDLE_CONNECTIONS: usize = 4;
/// How many bytes are read at a time.
const PIECE: usize = 16 * 1024;
/// How many pieces may wait for a slow reader; beyond that, the reading thread stops, and with it the sender.
const PIECES: usize = 4;

/// The supported methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Vec<u8>,
}

/// The head of a response, and its body to come.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

struct Head {
    status: u16,
    headers: HeaderMap,
}

/// Sends requests to one service.
#[derive(Debug)]
pub(crate) struct Client {
    config: Config,
    limits: Limits,
    idle: Idle,
}

impl Client {
    /// Creates a client that waits at most `silence` for each next byte. Proxies from the environment are used unless
    /// the service is on this machine.
    pub(crate) fn new(silence: Duration, is_loopback: bool) -> Self {
        let limits = Limits { connect: CONNECT.min(silence), silence };
        let builder = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence))
            .max_idle_connections(1)
            .max_idle_age(IDLE)
            .user_agent(concat!("aethon/", env!("CARGO_PKG_VERSION")));
        let builder = if is_loopback { builder.proxy(None) } else { builder };
        Self { config: builder.build(), limits, idle: Idle::default() }
    }

    /// Sends a request and waits for the head of the response, whatever its status. Redirects are not followed.
    /// Dropping the future, or the body, closes the connection at once.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Failure> {
        let agent = self.idle.take().unwrap_or_else(|| self.config.clone().into());
        let lease = Lease::of(agent.clone());
        let (head, head_arrives) = oneshot::channel();
        let (pieces, pieces_arrive) = mpsc::channel(PIECES);
        let exchange =
            Exchange { agent, lease: lease.clone(), idle: self.idle.clone(), limits: self.limits, pieces };
        let body = Body::new(pieces_arrive, lease);
        tokio::task::spawn_blocking(move || exchange.run(outgoing, head));
        // The sender is dropped unsent only if the thread panicked or the runtime is shutting down.
        let Head { status, headers } =
            head_arrives.await.map_err(|_| Failure::Broken("the request was given up".into()))??;
        Ok(Incoming { status, headers, body })
    }
}

/// One request, as its thread sees it.
struct Exchange {
    agent: Agent,
    lease: Lease,
    idle: Idle,
    limits: Limits,
    pieces: mpsc::Sender<Result<Bytes, Failure>>,
}

impl Exchange {
    fn run(self, outgoing: Outgoing, head: oneshot::Sender<Result<Head, Failure>>) {
        let proxy = self.proxy(&outgoing.url);
        let response = match self.ask(outgoing) {
            Ok(response) => response,
            Err(error) => {
                let failure = Failure::of(error, self.limits);
                let failure = match proxy {
                    Some(proxy) => failure.through(&proxy),
                    None => failure,
                };
                // If the caller has given up, the receiver is gone, which is fine.
                let _ = head.send(Err(failure));
                return;
            }
        };
        let (parts, body) = response.into_parts();
        let mut headers = parts.headers;
        let reader = match Unpacking::of(&mut headers) {
            Ok(unpacking) => unpacking.reader(body.into_reader()),
            Err(failure) => {
                let _ = head.send(Err(failure));
                return;
            }
        };
        let arrived = Head { status: parts.status.as_u16(), headers };
        if head.send(Ok(arrived)).is_err() {
            return;
        }
        let mut reader = reader;
        let mut piece = vec![0; PIECE];
        loop {
            let read = match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => Ok(Bytes::copy_from_slice(&piece[..length])),
                Err(error) => Err(Failure::of_io(error, self.limits)),
            };
            let failed = read.is_err();
            if self.pieces.blocking_send(read).is_err() || failed {
                return;
            }
        }
        // Return the connection before announcing the end, so that a caller that sends another request right away
        // finds it.
        drop(reader);
        if let Some(agent) = self.lease.take() {
            self.idle.put(agent);
        }
    }

    /// Returns the address of the proxy that a request to `url` goes through.
    fn proxy(&self, url: &str) -> Option<String> {
        let proxy = self.agent.config().proxy()?;
        let is_direct = url.parse().is_ok_and(|uri| proxy.is_no_proxy(&uri));
        (!is_direct).then(|| format!("{}:{}", proxy.host(), proxy.port()))
    }

    fn ask(&self, outgoing: Outgoing) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let method = match outgoing.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        };
        let mut request = http::Request::builder().method(method).uri(outgoing.url);
        for (name, value) in outgoing.headers {
            request = request.header(name, value);
        }
        match outgoing.method {
            Method::Get | Method::Delete => self.agent.run(request.body(())?),
            Method::Post | Method::Put | Method::Patch => self.agent.run(request.body(outgoing.body)?),
        }
    }
}

/// Agents with an idle connection.
#[derive(Debug, Clone, Default)]
struct Idle(Arc<Mutex<Vec<Agent>>>);

impl Idle {
    fn take(&self) -> Option<Agent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, agent: Agent) {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() < IDLE_CONNECTIONS {
            agents.push(agent);
        }
    }
}
