//! One connection: hyper parses and frames, the application answers, and the server's shutdown reaches both.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use http::StatusCode;
use http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

use crate::accepted::Accepted;
use crate::app::App;
use crate::body::Response;
use crate::connections::ConnectionSlot;
use crate::guarded_stream::{GuardedStream, MAX_HEAD, set_options};
use crate::progress::Progress;
use crate::request::RequestBody;
use crate::service::{self, Admitted, ResponseFuture};

/// How far shutdown has progressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Shutdown has not begun.
    Serving,
    /// Running requests finish, and new ones are not accepted.
    Draining,
    /// Remaining connections are dropped.
    Cut,
}

/// Serves one connection until it closes or becomes a WebSocket.
pub(crate) async fn serve(
    stream: Accepted,
    peer: IpAddr,
    slot: ConnectionSlot,
    app: Arc<App>,
    mut phase: watch::Receiver<Phase>,
) {
    set_options(&stream);
    let progress = Arc::clone(slot.progress());
    let stream = GuardedStream::new(stream, Arc::clone(&app), slot);
    let mut builder = http1::Builder::new();
    builder.half_close(true).header_read_timeout(None).max_buf_size(MAX_HEAD);
    let service = Service { app, progress, peer };
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let mut known = Phase::Serving;
    loop {
        let next = tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
                }
                return;
            }
            // An error means that the server is gone, so the connection is cut.
            next = phase.wait_for(|phase| *phase > known) => next.map_or(Phase::Cut, |phase| *phase),
        };
        if next == Phase::Cut {
            return;
        }
        known = next;
        connection.as_mut().graceful_shutdown();
    }
}

/// The application as a service for one connection.
struct Service {
    app: Arc<App>,
    progress: Arc<Progress>,
    peer: IpAddr,
}

impl hyper::service::Service<http::Request<Incoming>> for Service {
    type Response = Response;
    type Error = std::convert::Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: http::Request<Incoming>) -> ResponseFuture {
        let (head, body) = request.into_parts();
        self.progress.begin();
        let body = RequestBody::incoming(body, &self.progress);
        let progress = Arc::clone(&self.progress);
        service::call(&self.app, head, body, self.peer, move |answer| {
            if answer.extensions().get::<Admitted>().is_some() {
                progress.know();
            }
            begin_sending(&progress, answer);
        })
    }
}

/// Records that a response is ready. A connection whose request body was left unread cannot be reused.
fn begin_sending(progress: &Arc<Progress>, response: &mut Response) {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return progress.upgrade();
    }
    if progress.is_unread() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.body_mut().mark_sending(progress.sending());
}
