//! A request as handlers see it: its head, its parameters, its client, and a body read within limits.

use aethon_core::ids::MessageId;
use aethon_core::upload::MAX_UPLOAD;
use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Method, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::body_text;
use crate::error::Problem;
use crate::intake::{Intake, Room};
use crate::options::{Limits, Network};
use crate::pattern::Params;
use crate::progress::Progress;
use crate::unix_peer;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A request.
pub(crate) struct Request {
    /// Method, target and headers.
    pub(crate) head: http::request::Parts,
    /// The values of the pattern's parameters.
    pub(crate) params: Params,
    /// Who sent it.
    pub(crate) client: Client,
    /// The result of the token check, if a token was needed.
    pub(crate) token: crate::auth::TokenCheck,
    /// The body, not read yet.
    pub(crate) body: RequestBody,
    /// Limits on its body.
    pub(crate) limits: BodyLimits,
    /// Where there must be room for its body, if its sender has not proven who that is.
    pub(crate) intake: Option<Arc<Intake>>,
}

/// How many times longer than another body a file may take to arrive.
const FILE_TIMEOUT_FACTOR: u32 = 20;

/// Limits on the body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// Its maximum length.
    bytes: usize,
    /// How long it may take to arrive.
    time: Duration,
}

impl BodyLimits {
    /// Takes the limits from the options.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { bytes: limits.max_body_bytes, time: limits.body_timeout }
    }
}

/// A body that is not read yet.
pub(crate) enum RequestBody {
    /// The request has none.
    Empty,
    /// Arriving. The progress is updated once it is read completely, because only then can the connection be reused.
    Incoming(Incoming, Arc<Progress>),
    /// Arriving through another server. The lock only makes it shareable between threads.
    Foreign(Mutex<ForeignBody>),
    /// Complete, as tests supply it.
    #[cfg(test)]
    Whole(Bytes),
}

/// The body of a request that another server has accepted.
pub(crate) type ForeignBody = UnsyncBoxBody<Bytes, Box<dyn StdError + Send + Sync>>;

/// Who sent a request, as far as can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    /// The peer's address, or the one reported by a trusted proxy.
    pub(crate) address: IpAddr,
    /// Whether the client used https, which only a trusted proxy can say.
    pub(crate) is_https: bool,
}

impl Client {
    /// Returns where the client is, for the log and the audit log.
    pub(crate) fn shown(&self) -> String {
        unix_peer::shown(self.address)
    }

    /// Returns whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.address.is_loopback() || self.address == unix_peer::UNIX_PEER
    }

    /// Determines the client of a request from this peer.
    pub(crate) fn of(peer: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> Self {
        let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
        let mut address = peer.to_canonical();
        if proxies.is_empty() || !is_proxy(address) {
            return Self { address, is_https: false };
        }
        // The proxy itself saw only the last hop. Anything before it could be forged.
        let last = headers.get_all(X_FORWARDED_FOR).iter().next_back().and_then(|value| value.to_str().ok());
        if let Some(hop) = last.and_then(|value| hop_address(value.rsplit(',').next()?.trim())) {
            address = hop;
        }
        let mut protocols = headers.get_all(X_FORWARDED_PROTO).iter().filter_map(|value| value.to_str().ok());
        let protocol = protocols.next_back().and_then(|value| value.rsplit(',').next());
        Self { address, is_https: protocol.is_some_and(|value| value.trim().eq_ignore_ascii_case("https")) }
    }
}

/// Parses `1.2.3.4`, `1.2.3.4:5`, `::1` or `[::1]:5`.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let plain = hop.parse::<IpAddr>().or_else(|_| crate::host::unbracketed(hop).parse());
    let address = plain.or_else(|_| hop.parse::<std::net::SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

impl RequestBody {
    /// Wraps the body that arrives on a connection.
    pub(crate) fn incoming(body: Incoming, progress: &Arc<Progress>) -> Self {
        if body.is_end_stream() {
            return Self::Empty;
        }
        progress.expect_body();
        Self::Incoming(body, Arc::clone(progress))
    }

    /// Wraps the body of a request that another server has accepted.
    pub(crate) fn foreign<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        match body.is_end_stream() {
            true => Self::Empty,
            false => Self::Foreign(Mutex::new(body.map_err(Into::into).boxed_unsync())),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

impl Request {
    /// Returns whether the method changes state.
    pub(crate) fn changes_state(&self) -> bool {
        !matches!(self.head.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
    }

    /// Refuses a body that is not JSON. Where no body is wanted, none is required.
    pub(crate) fn check_content_type(&self, is_json_wanted: bool) -> Result<(), Problem> {
        let mut types = self.head.headers.get_all(CONTENT_TYPE).iter();
        let is_json = match (types.next(), types.next()) {
            (None, _) => !is_json_wanted && self.body.is_empty(),
            (Some(value), None) => is_json_type(value.as_bytes()),
            (Some(_), Some(_)) => false,
        };
        let encoding = self.head.headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().trim_ascii());
        let is_plain =
            encoding.is_none_or(|value| value.is_empty() || value.eq_ignore_ascii_case(b"identity"));
        if is_json && is_plain {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "send the body as JSON, not compressed, with `Content-Type: application/json`",
        ))
    }

    /// Refuses a file without a type.
    pub(crate) fn check_file_type(&self) -> Result<(), Problem> {
        let detail = "send the file as it is, not compressed, with its type in `Content-Type`";
        let unsupported =
            || Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail);
        self.media_type().map(drop).ok_or_else(unsupported)
    }

    /// Prepares for a body that is a file, which may be larger and take longer than others.
    pub(crate) fn expect_file(&mut self) {
        self.limits =
            BodyLimits { bytes: MAX_UPLOAD, time: self.limits.time.saturating_mul(FILE_TIMEOUT_FACTOR) };
    }

    /// Returns the type of the body, in lower case and without parameters; `None` unless there is exactly one.
    pub(crate) fn media_type(&self) -> Option<String> {
        let mut types = self.head.headers.get_all(CONTENT_TYPE).iter();
        let (first, second) = (types.next()?.to_str().ok()?, types.next());
        let mime = first.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_type = mime.split_once('/').is_some_and(|(kind, of)| !kind.is_empty() && !of.is_empty());
        let is_plain = !self.head.headers.contains_key(CONTENT_ENCODING);
        (second.is_none() && is_type && is_plain).then_some(mime)
    }

    /// Refuses a body whose declared length is too large, before reading any of it.
    pub(crate) fn check_length(&self) -> Result<(), Problem> {
        match self.declared_length() {
            Some(length) if length > self.limits.bytes as u64 => Err(too_large(self.limits)),
            _ => Ok(()),
        }
    }

    fn declared_length(&self) -> Option<u64> {
        self.head.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Waits for room for the body, where it needs some. The body is not read before.
    pub(crate) async fn reserve(&mut self) -> Result<Option<Room>, Problem> {
        let Some(intake) = self.intake.take().filter(|_| !self.body.is_empty()) else { return Ok(None) };
        let declared = self.declared_length().and_then(|length| usize::try_from(length).ok());
        let bytes = declared.unwrap_or(self.limits.bytes).min(self.limits.bytes);
        let room = tokio::time::timeout(self.limits.time, intake.reserve(self.client.address, bytes)).await;
        room.map(Some).map_err(|_| {
            let detail = "too many large bodies arrive at the same time; send it again in a moment";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
        })
    }

    /// Reads the body within its limits of size and time, as UTF-8 if its declared charset is another.
    pub(crate) async fn read(&mut self) -> Result<Bytes, Problem> {
        let body = self.read_raw().await?;
        Ok(body_text::in_utf8(&self.head.headers, body))
    }

    /// Reads the body as it arrives, within its limits of size and time.
    pub(crate) async fn read_raw(&mut self) -> Result<Bytes, Problem> {
        let limits = self.limits;
        match std::mem::replace(&mut self.body, RequestBody::Empty) {
            RequestBody::Empty => Ok(Bytes::new()),
            #[cfg(test)]
            RequestBody::Whole(bytes) if bytes.len() > limits.bytes => Err(too_large(limits)),
            #[cfg(test)]
            RequestBody::Whole(bytes) => Ok(bytes),
            RequestBody::Incoming(body, progress) => {
                let read = tokio::time::timeout(limits.time, collect(body, limits));
                let bytes = read.await.map_err(|_| too_slow(limits.time))??;
                progress.body_is_read();
                Ok(bytes)
            }
            RequestBody::Foreign(body) => {
                let body = body.into_inner().unwrap_or_else(PoisonError::into_inner);
                let read = tokio::time::timeout(limits.time, collect(body, limits));
                read.await.map_err(|_| too_slow(limits.time))?
            }
        }
    }

    /// Returns a query parameter that is present and not empty.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let pairs = url::form_urlencoded::parse(self.head.uri.query().unwrap_or_default().as_bytes());
        pairs
            .into_iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .filter(|it| !it.is_empty())
    }

    /// Returns whether a header contains this token, ignoring case.
    pub(crate) fn header_is(&self, name: &str, word: &str) -> bool {
        self.head
            .headers
            .get(name)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns whether it is a well-formed WebSocket upgrade.
    pub(crate) fn is_upgrade(&self) -> bool {
        let headers = &self.head.headers;
        let asks_for = |name: HeaderName, word: &str| {
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
        };
        asks_for(UPGRADE, "websocket")
            && asks_for(CONNECTION, "upgrade")
            && self.head.method == Method::GET
            && self.head.version == http::Version::HTTP_11
            && headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13")
            && headers.get(SEC_WEBSOCKET_KEY).is_some_and(|key| key.len() == 24)
    }
}

/// Returns the id of a message, if there is one. Anything else is 422 with these words.
pub(crate) fn message_id(
    name: &'static str,
    given: Option<String>,
    otherwise: &'static str,
) -> Result<Option<MessageId>, Problem> {
    let Some(text) = given else { return Ok(None) };
    let id = text.parse().ok().filter(|id| *id > 0).map(MessageId);
    id.map(Some).ok_or_else(|| Problem::invalid(name, otherwise))
}

/// Parses JSON bytes. Returns 400 if they are not JSON, 422 if they have another shape.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(&body_text::unmarked(bytes)).map_err(|error| {
        if error.is_data() {
            let detail = format!("the body has another form than expected: {error}");
            return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", detail);
        }
        let detail = if bytes.trim_ascii().is_empty() {
            "the body is empty; send a JSON object".to_owned()
        } else {
            format!("the body is not valid JSON: {error}")
        };
        Problem::bad_request("bad_json", detail)
    })
}

/// Returns whether a media type is JSON or a format in JSON, such as `application/cloudevents+json`.
fn is_json_type(value: &[u8]) -> bool {
    let essence = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") || essence.eq_ignore_ascii_case(b"text/json") {
        return true;
    }
    let essence = essence.to_ascii_lowercase();
    let name = essence.strip_prefix(b"application/").and_then(|name| name.strip_suffix(b"+json"));
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(byte);
    name.is_some_and(|name| !name.is_empty() && name.iter().all(is_plain))
}

async fn collect<B>(mut body: B, limits: BodyLimits) -> Result<Bytes, Problem>
where
    B: http_body::Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Problem::bad_request("bad_body", "the body is malformed or was cut off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > limits.bytes {
            return Err(too_large(limits));
        }
        // A body in one piece, as most are, is used without copying.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn too_large(limits: BodyLimits) -> Problem {
    let detail = format!("the body is larger than {} bytes (`server.max_body_bytes`)", limits.bytes);
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

fn too_slow(timeout: Duration) -> Problem {
    let detail = format!("the body did not arrive within {} seconds", timeout.as_secs_f32());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail)
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    #[test]
    fn forwarding_headers_count_from_trusted_proxies_only() {
        let proxies = ["10.0.0.0/8", "::1"].map(|text| Network::parse(text).expect("well formed"));
        let check = |peer: &str, forwarded: &[&str], proto: &str, address: &str, is_https: bool| {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
            }
            headers.append(X_FORWARDED_PROTO, HeaderValue::from_str(proto).unwrap());
            let client = Client::of(peer.parse().unwrap(), &headers, &proxies);
            assert_eq!(
                client,
                Client { address: address.parse().unwrap(), is_https },
                "{peer} {forwarded:?}"
            );
        };
        check("192.0.2.1", &["198.51.100.1"], "https", "192.0.2.1", false);
        check("10.0.0.1", &["198.51.100.1"], "https", "198.51.100.1", true);
        check("::ffff:10.0.0.1", &["198.51.100.1"], "HTTPS", "198.51.100.1", true);
        check("10.0.0.1", &["203.0.113.1, 198.51.100.1, 10.2.2.2"], "http", "10.2.2.2", false);
        check("10.0.0.1", &["203.0.113.1", "198.51.100.1:4711"], "http", "198.51.100.1", false);
        check("::1", &["[2001:db8::1]:80"], "http, https", "2001:db8::1", true);
        check("10.0.0.1", &["spoofed, nonsense"], "", "10.0.0.1", false);
        check("10.0.0.1", &[], "https", "10.0.0.1", true);
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "", "10.0.0.2", false);
        check("10.0.0.1", &["198.51.100.1", "198.51.100.2"], "", "198.51.100.2", false);
        check("10.0.0.1", &["198.51.100.1, unknown"], "", "10.0.0.1", false);
    }

    #[test]
    fn json_is_recognised_by_its_content_type() {
        for (value, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json;", true),
            ("application/json; charset=iso-8859-1", true),
            ("application/vnd.github.v3+json", true),
            ("application/vnd.x+json; charset=\"UTF-8\"", true),
            ("Application/CloudEvents+JSON", true),
            ("application/problem+json", true),
            ("text/json", true),
            ("application/+json", false),
            ("application/a b+json", false),
            ("text/plain+json", false),
            ("multipart/x+json", false),
            ("text/plain", false),
            ("application/jsonx", false),
            ("text/plain; application/json", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            assert_eq!(is_json_type(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        let deep = "[".repeat(100_000);
        assert_eq!(parse::<serde_json::Value>(deep.as_bytes()).unwrap_err().status(), 400);
    }
}
