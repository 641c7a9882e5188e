//! Turns an upgrade request into a running socket.
//!
//! The service has checked Host, Origin, token and the form of the request before it calls [`upgrade`]. A peer that
//! was not admitted still gets its handshake and then close code 1008, because browsers report no other refusal to
//! the page.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aethon_core::ids::SessionId;
use futures_util::FutureExt;
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{HeaderMap, Request, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::socket::{self, Close, Socket};
use super::webchat::{DEFAULT_SESSION, session_named};
use super::{chat_v1, dashboard, frames, plain};
use schemars::JsonSchema;

use crate::access_lease::AccessLease;
use crate::app::App;
use crate::body::Response;
use crate::response;
use crate::traffic::Kind;

/// Which socket a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// `/ws/chat`.
    Chat,
    /// `/ws/dashboard`.
    Dashboard,
}

/// What runs on a socket.
enum Protocol {
    Refused(Close),
    Plain(SessionId),
    V1(SessionId),
    Dashboard,
}

/// Completes the handshake. The service calls this for a well-formed upgrade (GET, HTTP/1.1, `Connection: upgrade`,
/// `Upgrade: websocket`, version 13, a key) whose Host was checked. `lease` is the outcome of the Origin and token
/// checks: without it, the connection is closed with 1008 at once, and nothing the peer sends is read. The request
/// must still have its extensions for `hyper::upgrade::on`. The service adds the common headers to the response.
pub(crate) fn upgrade(
    app: &Arc<App>,
    socket: SocketKind,
    mut request: Request<()>,
    lease: Option<AccessLease>,
) -> Response {
    let is_v1 = socket == SocketKind::Chat && offers_v1(request.headers());
    let protocol = match (&lease, socket) {
        (None, _) => Protocol::Refused(Close::REFUSED),
        (Some(_), SocketKind::Dashboard) => Protocol::Dashboard,
        (Some(_), SocketKind::Chat) => match named_session(request.uri().query()) {
            Some(session) if is_v1 => Protocol::V1(session),
            Some(session) => Protocol::Plain(session),
            None => Protocol::Refused(Close::BAD_SESSION),
        },
    };
    let key = request.headers().get(SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    let accept = derive_accept_key(key);
    let upgraded = hyper::upgrade::on(&mut request);
    // The task ends with the connection or at shutdown, whichever comes first. The connection holds the server's
    // permit, so the server knows when all have ended.
    tokio::spawn(serve(Arc::clone(app), upgraded, protocol, lease));
    answer(&accept, is_v1)
}

fn answer(accept: &str, is_v1: bool) -> Response {
    let mut answer = response::with_body(StatusCode::SWITCHING_PROTOCOLS, "");
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if is_v1 {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(frames::PROTOCOL));
    }
    answer
}

async fn serve(app: Arc<App>, upgraded: OnUpgrade, protocol: Protocol, lease: Option<AccessLease>) {
    let upgraded = match upgraded.await {
        Ok(upgraded) => upgraded,
        Err(error) => {
            tracing::debug!(%error, "a peer left during its WebSocket handshake");
            return;
        }
    };
    let lease = match (protocol, lease) {
        (Protocol::Refused(close), _) => return socket::refuse(TokioIo::new(upgraded), close).await,
        (_, None) => return socket::refuse(TokioIo::new(upgraded), Close::REFUSED).await,
        (admitted, Some(lease)) => (admitted, lease),
    };
    if let Some((socket, close)) = run(&app, upgraded, lease).await {
        // Boxed because it is rare and larger than an idle socket: the task reserves no space for it.
        Box::pin(socket.close(close)).await;
    }
}

/// Runs until the connection ends. Returns a close code if it is still open.
async fn run(
    app: &Arc<App>,
    upgraded: Upgraded,
    (protocol, lease): (Protocol, AccessLease),
) -> Option<(Socket, Close)> {
    let kind = if matches!(protocol, Protocol::Dashboard) { Kind::DashboardSocket } else { Kind::ChatSocket };
    let _present = app.traffic.enter(kind);
    let mut socket = Socket::new(TokioIo::new(upgraded), lease.ended()).await;
    let (chat, runtime) = (&app.deps.chat, &app.deps.runtime);
    let talking = async {
        match protocol {
            Protocol::Plain(session) => plain::run(chat, runtime, &mut socket, &session).await,
            Protocol::V1(session) => chat_v1::run(app, &mut socket, session).await,
            Protocol::Dashboard => {
                let activity = (&app.deps.activity.bus, &app.feed);
                dashboard::run(activity, (runtime, chat.hub.page()), &mut socket).await
            }
            Protocol::Refused(close) => Some(close),
        }
    };
    // A panic costs only its own socket.
    let close = AssertUnwindSafe(talking).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a WebSocket's task panicked");
        Some(Close::FAILED)
    });
    close.map(|close| (socket, close))
}

fn offers_v1(headers: &HeaderMap) -> bool {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter().filter_map(|value| value.to_str().ok());
    offered.flat_map(|list| list.split(',')).any(|name| name.trim() == frames::PROTOCOL)
}

/// Which conversation a chat socket is about.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it has a schema only")]
pub(crate) struct Asked {
    /// The session of the web chat, with or without `webchat:`; `default` unless it says otherwise.
    session: Option<String>,
}

/// Returns the session that the address names, or `None` if the name is invalid.
fn named_session(query: Option<&str>) -> Option<SessionId> {
    let query = query.unwrap_or_default().as_bytes();
    let name = url::form_urlencoded::parse(query).find(|(key, _)| key == "session").map(|(_, name)| name);
    session_named(name.as_deref().filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SESSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_names_the_session() {
        let check = |query: Option<&str>, expected: Option<&str>| {
            assert_eq!(named_session(query).as_ref().map(SessionId::as_str), expected, "{query:?}");
        };
        check(None, Some("webchat:default"));
        check(Some(""), Some("webchat:default"));
        check(Some("session="), Some("webchat:default"));
        check(Some("session=work"), Some("webchat:work"));
        check(Some("token=x&session=a%20b+c"), Some("webchat:a b c"));
        check(Some("session=a:b"), Some("webchat:a:b"));
        check(Some("session=%0a"), None);
        check(Some("session=%20"), None);
        check(Some(&format!("session={}", "x".repeat(300))), None);
    }

    #[test]
    fn the_protocol_is_found_in_any_list() {
        let check = |values: &[&'static str], expected: bool| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(value));
            }
            assert_eq!(offers_v1(&headers), expected, "{values:?}");
        };
        check(&[], false);
        check(&["aethon.chat.v1"], true);
        check(&["a, aethon.chat.v1"], true);
        check(&["a", "b,aethon.chat.v1 "], true);
        check(&["aethon.chat.v2", "AETHON.CHAT.V1"], false);
    }
}
