//! The WebSockets: `/ws/chat` and `/ws/dashboard`.

use std::sync::Arc;

use aethon_core::ids::SessionId;

use crate::app::App;
use crate::response::{self, Response};

/// The live conversations.
pub struct Hub {}

impl Hub {
    /// The last frame of a session's sequence that is reflected in its stored messages; 0 when it has none.
    pub(crate) fn stored_seq(&self, _session: &SessionId) -> u64 {
        0
    }
}

/// Which socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Socket {
    /// `/ws/chat`.
    Chat,
    /// `/ws/dashboard`.
    Dashboard,
}

/// Completes the handshake. The service calls this for a well-formed upgrade (GET, HTTP/1.1, `Connection: upgrade`,
/// `Upgrade: websocket`, version 13, a key) whose Host was checked; `is_admitted` is the outcome of the Origin and token
/// checks: when false, the connection is closed with 1008 at once and nothing of the peer is read. The request still
/// has its extensions, so that `hyper::upgrade::on` works on it. The service puts the common headers on the answer.
pub(crate) fn upgrade(
    _app: &Arc<App>,
    _socket: Socket,
    _request: http::Request<()>,
    _is_admitted: bool,
) -> Response {
    response::with_body(http::StatusCode::NOT_IMPLEMENTED, "")
}
