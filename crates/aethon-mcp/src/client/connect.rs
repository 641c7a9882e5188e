//! Establishes a connection: starts a program or contacts a URL, and negotiates a protocol revision.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use aethon_core::exchange::Exchange;
use aethon_core::header_value::header_oddity;
use aethon_core::program::{Program, Programs, RunningProgram};
use aethon_core::secret::Secret;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability, Implementation,
    ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::time::timeout;

use super::flood_guard::FloodGuard;
use super::http::Requests;
use super::options::Address;
use super::oversize::{Lines, MAX_MESSAGE};
use super::refusal::{Refusal, SignIn};
use super::session::{Listener, ServerProcess, Session};
use super::stderr::StderrTail;
use super::words::brief;
use crate::error::Error;

/// How long a server may take until it is usable. Some are fetched from a registry when they start.
const STARTING: Duration = Duration::from_secs(90);
/// How long to wait for the exit status of a program that has hung up.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum delay before a stream is reopened.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// As in the newest revision, falling back to the handshake of the older ones if the server does not understand.
    Newest,
    /// With the handshake of the older revisions.
    Handshake,
}

/// Who connects, and to whom.
pub(super) struct Introduction {
    /// The name of the server.
    pub(super) server: Arc<str>,
    /// The version of this program.
    pub(super) version: String,
    /// Whether a person can be asked here.
    pub(super) people: People,
}

/// Whether there are people to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum People {
    /// In some turns.
    Present,
    /// In none.
    Absent,
}

/// Connects to a server. The error is a sentence that names the problem.
pub(super) async fn connect(
    address: Arc<Address>,
    programs: Arc<dyn Programs>,
    introduction: Introduction,
    lifecycle: Lifecycle,
) -> Result<Session, Error> {
    let Introduction { server, version, people } = introduction;
    let sign_in = sign_in(&address);
    let listener = Listener::new(client(version, people), server, sign_in);
    match &*address {
        Address::Program(program) => to_program(program.clone(), programs, listener, lifecycle).await,
        Address::Url { url, headers, exchange } => {
            let config = config(url, headers)?;
            let connected = to_address(config, exchange.clone(), listener, lifecycle).await;
            // With a token of the owner's in place, the error says that the server refuses it.
            connected.map_err(|error| match sign_in {
                SignIn::Configured => error.mended_by_sign_in(false),
                SignIn::ByPerson => error,
            })
        }
    }
}

fn sign_in(address: &Address) -> SignIn {
    match address {
        Address::Url { headers, .. }
            if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) =>
        {
            SignIn::Configured
        }
        _ => SignIn::ByPerson,
    }
}

async fn to_program(
    program: Program,
    programs: Arc<dyn Programs>,
    listener: Listener,
    lifecycle: Lifecycle,
) -> Result<Session, Error> {
    let cannot = |error: std::io::Error| {
        let command = &program.command;
        Error::new(format!("`{command}` cannot be started: {error}")).because(error)
    };
    let RunningProgram { input, output, errors, mut life } =
        programs.start(&program).await.map_err(cannot)?;
    let stderr = StderrTail::of(errors);
    // A repaired line may be longer than it was.
    let transport =
        AsyncRwTransport::new_client(Lines::new(output), input).with_max_line_length(2 * MAX_MESSAGE);
    let agreed = timeout(STARTING, agree(listener, transport, lifecycle)).await;
    let (mut why, hung_up) = match agreed {
        Ok(Ok(mut session)) => {
            session.process = Some(ServerProcess { life, stderr });
            return Ok(session);
        }
        Ok(Err(error)) => (sentence(&error), is_hung_up(&error)),
        Err(_) => (format!("it did not answer within {} s", STARTING.as_secs()), false),
    };
    // An exit status says more than that it hung up. If it has not exited, it will be ended now.
    if hung_up && let Ok(ended) = timeout(EXIT_TIMEOUT, life.ended()).await {
        why = format!("`{}` ended {ended}", program.command);
    }
    // Its last output on stderr says most.
    Err(Error::new(stderr.append_to(why).await))
}

fn config(url: &str, headers: &[(String, Secret)]) -> Result<StreamableHttpClientTransportConfig, Error> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(valid(headers)?)
        .max_sse_event_size(MAX_MESSAGE)
        .max_json_response_size(MAX_MESSAGE);
    let mut patience = ExponentialBackoff::default();
    patience.max_delay = Some(MAX_PAUSE);
    config.retry_config = Arc::new(patience);
    Ok(config)
}

async fn to_address(
    config: StreamableHttpClientTransportConfig,
    exchange: Arc<dyn Exchange>,
    listener: Listener,
    lifecycle: Lifecycle,
) -> Result<Session, Error> {
    let transport =
        StreamableHttpClientTransport::with_client(Requests::new(exchange, listener.signals.clone()), config);
    match timeout(STARTING, agree(listener, transport, lifecycle)).await {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(error)) => {
            let wants_sign_in = wants_sign_in(&error);
            Err(Error::new(sentence(&error)).because(error).mended_by_sign_in(wants_sign_in))
        }
        Err(_) => Err(Error::new(format!("it did not answer within {} s", STARTING.as_secs()))),
    }
}

fn agree<T: Transport<RoleClient> + 'static>(
    listener: Listener,
    transport: T,
    lifecycle: Lifecycle,
) -> BoxFuture<'static, Result<Session, ClientInitializeError>> {
    async move {
        let mode = match lifecycle {
            Lifecycle::Newest => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Lifecycle::Handshake => ClientLifecycleMode::Initialize,
        };
        let signals = listener.signals.clone();
        let transport = FloodGuard::new(transport, signals.clone());
        let service = serve_client_with_lifecycle(listener, transport, mode).await?;
        Ok(Session { service, signals, process: None })
    }
    .boxed()
}

/// Introduces us. A server may ask a person, where there are people, and request nothing else from the assistant.
fn client(version: String, people: People) -> ClientConfig {
    let name = Implementation::new(crate::NAME, version).with_title("Aethon");
    let mut capabilities = ClientCapabilities::default();
    if people == People::Present {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        elicitation.url = Some(UrlElicitationCapability::default());
        capabilities.elicitation = Some(elicitation);
    }
    ClientConfig::new(capabilities, name).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn valid(headers: &[(String, Secret)]) -> Result<HashMap<HeaderName, HeaderValue>, Error> {
    let header = |(name, value): &(String, Secret)| {
        // The value is a secret, so only name the header.
        let invalid = |what: &str| Error::new(format!("the {what} of the header {name:?} is not valid"));
        if let Some(oddity) = header_oddity(value.expose()) {
            return Err(Error::new(format!(
                "the value of the header {name:?} {oddity}, so it cannot be sent"
            )));
        }
        let mut value = HeaderValue::from_str(value.expose().trim()).map_err(|_| invalid("value"))?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("name"))?, value))
    };
    headers.iter().map(header).collect()
}

/// Returns whether the other side went away.
fn is_hung_up(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })
}

/// Returns whether the server wants a person to sign in.
fn wants_sign_in(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            Refusal::of(&*error.error).is_some_and(|refusal| refusal.wants_sign_in)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => wants_sign_in(fallback),
        _ => false,
    }
}

/// Describes the failure without quoting the server, whose text may be anything and of any length.
fn sentence(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            "it closed the connection before it could be used".into()
        }
        ClientInitializeError::JsonRpcError(error) => {
            format!("it refused the connection: {}", brief(&error.message))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no revision that we do".into()
        }
        ClientInitializeError::TransportError { error, .. } => {
            if let Some(refusal) = Refusal::of(&*error.error) {
                return refusal.why;
            }
            let mut text = error.error.to_string();
            let mut source = error.error.source();
            while let Some(cause) = source {
                let cause_text = cause.to_string();
                if !text.ends_with(&cause_text) {
                    text = format!("{text}: {cause_text}");
                }
                source = cause.source();
            }
            brief(&text)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => sentence(fallback),
        _ => "it answered with something else than the protocol has there".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let of = |value: &str| valid(&[("Authorization".to_owned(), Secret::new(value))]);
        for (value, words) in
            [("Bearer abc\u{200b}", "U+200B"), ("Bearer\nabc", "line break"), ("abcé", "U+00E9")]
        {
            let error = of(value).unwrap_err().to_string();
            assert!(error.contains("Authorization") && error.contains(words), "{error}");
            assert!(!error.contains("abc"), "{error}");
        }
        assert_eq!(of("Bearer abc\n").unwrap().len(), 1);
    }
}
