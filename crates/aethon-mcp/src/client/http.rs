//! Carries the SDK's HTTP requests over the program's own transport.
//!
//! The SDK knows the protocol: sessions, resumable streams, the meaning of a status. This file converts its requests
//! and our responses, and bounds every read.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use aethon_core::exchange::{BodyStream, Exchange, ExchangeRequest, ExchangeResponse, Method};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use super::oversize::too_large;
use super::repair;
use super::signals::ConnectionSignals;
use crate::oauth::Challenge;

/// Sends the SDK's requests.
#[derive(Clone)]
pub(super) struct Requests {
    exchange: Arc<dyn Exchange>,
    signals: Arc<ConnectionSignals>,
}

/// The error of an event that is too large.
const TOO_LARGE_EVENT: &str = "an event of the server is too large";

/// Phrases about a session that a server does not know. A tool may have sessions of its own, and fail with one of them.
const LOST: [&str; 12] = [
    "not found",
    "session id",
    "session-id",
    "no valid",
    "invalid",
    "unknown",
    "expired",
    "terminated",
    "not initialized",
    "no longer",
    "closed",
    "does not exist",
];

type Failure = StreamableHttpError<io::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

impl Requests {
    pub(super) fn new(exchange: Arc<dyn Exchange>, signals: Arc<ConnectionSignals>) -> Self {
        Self { exchange, signals }
    }

    /// Has the list read again after the server forgot the session: it was restarted, and may have other tools.
    fn note(&self, failure: &Failure) {
        if matches!(failure, StreamableHttpError::SessionExpired) {
            self.signals.list.notify_one();
        }
    }

    async fn send(&self, request: ExchangeRequest) -> Result<ExchangeResponse, Failure> {
        self.exchange.send(request).await.map_err(StreamableHttpError::Client)
    }
}

impl StreamableHttpClient for Requests {
    type Error = io::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let has_session = session_id.is_some();
        let accepted = format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}");
        let mut headers = headers(&accepted, session_id, auth_header, custom_headers);
        headers.push(("content-type".into(), JSON_MIME_TYPE.into()));
        let body = serde_json::to_vec(&message)?;
        let url = uri.to_string();
        let response = self.send(ExchangeRequest { method: Method::Post, url, headers, body }).await?;
        match response.status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if has_session => {
                Err(StreamableHttpError::SessionExpired).inspect_err(|failure| self.note(failure))
            }
            200..=299 => {
                answer(&Sent { message: &message, has_session, signals: &self.signals }, response, limits)
                    .await
            }
            _ => {
                refusal(&Sent { message: &message, has_session, signals: &self.signals }, response, limits)
                    .await
            }
        }
        .inspect_err(|failure| self.note(failure))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let headers = headers(JSON_MIME_TYPE, Some(session_id), auth_header, custom_headers);
        let request =
            ExchangeRequest { method: Method::Delete, url: uri.to_string(), headers, body: Vec::new() };
        match self.send(request).await?.status {
            // Not every server supports ending sessions.
            200..=299 | 405 => Ok(()),
            status => Err(StreamableHttpError::HttpStatus(HttpStatusError::new(status, None))),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            limit,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<Events, Failure> {
        let mut headers = headers(EVENT_STREAM_MIME_TYPE, session_id, auth_header, custom_headers);
        headers.extend(last_event_id.map(|id| (HEADER_LAST_EVENT_ID.to_owned(), id)));
        let request =
            ExchangeRequest { method: Method::Get, url: uri.to_string(), headers, body: Vec::new() };
        let response = self.send(request).await?;
        match response.status {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200..=299 if has_type(&response, EVENT_STREAM_MIME_TYPE) => {
                Ok(repaired(events(response.body, max_sse_event_size), None))
            }
            200..=299 => Err(StreamableHttpError::UnexpectedContentType(content_type(&response))),
            _ => Err(status_failure(&response)),
        }
    }
}

fn headers(
    accepted: &str,
    session_id: Option<Arc<str>>,
    auth_header: Option<String>,
    custom: Headers,
) -> Vec<(String, String)> {
    let own = [
        Some(("accept".to_owned(), accepted.to_owned())),
        session_id.map(|id| (HEADER_SESSION_ID.to_owned(), id.to_string())),
        auth_header.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))),
    ];
    let is_ours = |name: &HeaderName| {
        let ours = ["accept", HEADER_SESSION_ID, HEADER_LAST_EVENT_ID];
        ours.iter().any(|known| name.as_str().eq_ignore_ascii_case(known))
    };
    let custom = custom.iter().filter(|(name, _)| !is_ours(name));
    let custom = custom.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    own.into_iter().flatten().chain(custom).collect()
}

/// A message that was sent.
struct Sent<'m> {
    message: &'m ClientJsonRpcMessage,
    has_session: bool,
    signals: &'m ConnectionSignals,
}

impl Sent<'_> {
    /// Returns the id of a request.
    fn id(&self) -> Option<Value> {
        match self.message {
            JsonRpcMessage::Request(request) => serde_json::to_value(&request.id).ok(),
            _ => None,
        }
    }

    /// Fails if an answer in which a session is lost is about ours. A request that got as far as an answer with its id may have
    /// been done, by a tool that has sessions of its own: it must not be sent again, and other calls continue. If the session is
    /// lost nevertheless, the server refuses the next list, and the connection restarts.
    fn check_session(&self, answer: Option<&Value>) -> Result<(), Failure> {
        if !self.has_session {
            return Ok(());
        }
        let id = answer.and_then(|answer| answer.get("id")).filter(|id| !id.is_null());
        if id.is_none_or(|id| id == "server-error") {
            return Err(StreamableHttpError::SessionExpired);
        }
        self.signals.list.notify_one();
        Ok(())
    }
}

/// Reads the response of a server that accepted the message.
async fn answer(
    sent: &Sent<'_>,
    response: ExchangeResponse,
    limits: StreamableHttpResponseLimits,
) -> Result<StreamableHttpPostResponse, Failure> {
    let session = response.header(&HEADER_SESSION_ID.to_ascii_lowercase()).map(str::to_owned);
    if has_type(&response, EVENT_STREAM_MIME_TYPE) {
        let id = sent.id();
        let events = repaired(events(response.body, limits.max_sse_event_size), id);
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    let is_json = has_type(&response, JSON_MIME_TYPE);
    let kind = content_type(&response);
    let body = whole(response.body, limits.max_json_response_size).await?;
    // A message that is no request needs no answer; some servers acknowledge it with an empty page.
    let asks = matches!(sent.message, JsonRpcMessage::Request(_));
    if !asks && (body.is_empty() || !is_json) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !is_json {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let mut told: Value = serde_json::from_slice(&body)?;
    if is_lost_session(&told) {
        sent.check_session(Some(&told))?;
    }
    repair::repair(&mut told);
    Ok(StreamableHttpPostResponse::Json(serde_json::from_value(told)?, session))
}

/// Returns whether a server says that it does not know a session.
fn is_lost_session(told: &Value) -> bool {
    let Some(error) = told.get("error") else { return false };
    let is_known = matches!(error.get("code").and_then(Value::as_i64), Some(-32000 | -32001));
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    is_known && names_lost_session(message)
}

fn names_lost_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("session") && LOST.iter().any(|sign| text.contains(sign))
}

/// Repairs the messages in events. One that is too large becomes an error for the request `id`.
fn repaired(events: Events, id: Option<Value>) -> Events {
    let event = move |event: Result<Sse, SseError>| {
        let mut event = match (event, &id) {
            (Ok(event), _) => event,
            (Err(error), Some(id)) if is_too_large(&error) => {
                return Ok(Sse { data: Some(too_large(id).to_string()), ..Sse::default() });
            }
            (Err(error), _) => return Err(error),
        };
        let fixed = event.data.as_deref().and_then(|data| repair::text(data.as_bytes()));
        if let Some(fixed) = fixed.and_then(|fixed| String::from_utf8(fixed).ok()) {
            event.data = Some(fixed);
        }
        Ok(event)
    };
    events.map(event).boxed()
}

fn is_too_large(error: &SseError) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.to_string().contains(TOO_LARGE_EVENT) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Reads the response of a server that rejected the message: a protocol error if it sent one.
async fn refusal(
    sent: &Sent<'_>,
    response: ExchangeResponse,
    limits: StreamableHttpResponseLimits,
) -> Result<StreamableHttpPostResponse, Failure> {
    let (status, failure) = (response.status, status_failure(&response));
    if matches!(status, 401 | 403 | 429) {
        return Err(failure);
    }
    let is_json = has_type(&response, JSON_MIME_TYPE);
    let body = whole(response.body, limits.max_error_response_size).await.unwrap_or_default();
    if matches!(status, 400 | 404 | 410) && names_lost_session(&String::from_utf8_lossy(&body)) {
        let document = serde_json::from_slice(&body).ok();
        sent.check_session(document.as_ref())?;
    }
    let told = if is_json { serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok() } else { None };
    let JsonRpcMessage::Request(request) = sent.message else { return Err(failure) };
    let error = match told {
        Some(JsonRpcMessage::Error(told)) => told.error,
        // A server that does not know the newest way to begin may say so with a bare status.
        _ if is_discovery(sent.message) && (400..500).contains(&status) => {
            ErrorData::invalid_request(format!("the server answered with the status {status}"), None)
        }
        _ => return Err(failure),
    };
    Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(request.id.clone())), None))
}

fn is_discovery(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    matches!(request.request, rmcp::model::ClientRequest::DiscoverRequest(_))
}

fn status_failure(response: &ExchangeResponse) -> Failure {
    let challenge = response.header("www-authenticate").unwrap_or_default();
    match response.status {
        401 => StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.to_owned())),
        403 if let Some(lacking) = Challenge::of(response).filter(Challenge::needs_more_scope) => {
            let error = InsufficientScopeError::new(challenge.to_owned(), lacking.scope);
            StreamableHttpError::InsufficientScope(error)
        }
        status => {
            let after = response.header("retry-after").filter(|after| after.len() <= 128);
            StreamableHttpError::HttpStatus(HttpStatusError::new(status, after.map(str::to_owned)))
        }
    }
}

fn content_type(response: &ExchangeResponse) -> Option<String> {
    response.header("content-type").map(|kind| kind.chars().take(80).collect())
}

fn has_type(response: &ExchangeResponse, expected: &str) -> bool {
    let kind = response.header("content-type").and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(expected))
}

/// Reads a whole body.
async fn whole(mut body: BodyStream, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(StreamableHttpError::Client)?;
        if piece.len() > limit - all.len() {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: limit });
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

/// Reads a body as events, each no larger than the limit.
fn events(body: BodyStream, limit: usize) -> Events {
    let bounded = stream::unfold((Some(body), Event::default()), move |(body, mut event)| async move {
        let mut body = body?;
        let piece: Result<Bytes, io::Error> = body.next().await?;
        let piece = piece.and_then(|piece| {
            let fits = event.grow(&piece) <= limit;
            if fits { Ok(piece) } else { Err(io::Error::other(TOO_LARGE_EVENT)) }
        });
        let rest = piece.is_ok().then_some(body);
        Some((piece, (rest, event)))
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

/// Size of the event being read. An empty line ends it.
#[derive(Default)]
struct Event {
    size: usize,
    line: usize,
}

impl Event {
    /// Consumes a piece of the body, and returns the largest size that an event reached in it.
    fn grow(&mut self, piece: &[u8]) -> usize {
        let mut largest = 0;
        for byte in piece {
            self.size += 1;
            largest = largest.max(self.size);
            match byte {
                b'\r' => {}
                b'\n' if self.line == 0 => self.size = 0,
                b'\n' => self.line = 0,
                _ => self.line += 1,
            }
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(pieces: &[&str]) -> BodyStream {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from((*piece).to_owned()))).collect();
        Box::pin(stream::iter(pieces))
    }

    #[tokio::test]
    async fn events_are_read_and_bounded() {
        let check = async |pieces: &[&str], expected: &[&str], is_cut: bool| {
            let events: Vec<_> = events(body(pieces), 20).collect().await;
            let told: Vec<_> = events.iter().flatten().filter_map(|event| event.data.as_deref()).collect();
            assert_eq!(
                (told.as_slice(), events.iter().any(Result::is_err)),
                (expected, is_cut),
                "{pieces:?}"
            );
        };
        check(&["data: one\n\nda", "ta: two\r\n\r\n"], &["one", "two"], false).await;
        check(&["data: one\n\n", &"data: 0123456789\n".repeat(2)], &["one"], true).await;
        check(&["data: 0123456789\n\n"; 5], &["0123456789"; 5], false).await;
        check(&[&"x".repeat(30)], &[], true).await;
    }

    #[tokio::test]
    async fn a_whole_body_is_bounded() {
        assert_eq!(whole(body(&["ab", "cd"]), 4).await.unwrap(), b"abcd");
        assert!(whole(body(&["ab", "cde"]), 4).await.is_err());
    }

    #[test]
    fn reserved_headers_cannot_be_configured() {
        let custom = HashMap::from([
            (HeaderName::from_static("x-key"), HeaderValue::from_static("k")),
            (HeaderName::from_static("accept"), HeaderValue::from_static("x")),
        ]);
        let mut sent = headers("a/b", Some("s1".into()), None, custom);
        sent.sort();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(sent, [pair("Mcp-Session-Id", "s1"), pair("accept", "a/b"), pair("x-key", "k")]);
    }
}
