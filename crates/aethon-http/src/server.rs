//! The listener: binds, accepts within the limit, and ends in order.
//!
//! When as many connections are open as may be, a further one is answered 503 and closed. When the program stops, the
//! listener closes first, idle connections end at once, running requests finish, and after the grace what is left is
//! cut. WebSockets count as connections until they are closed.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::shutdown::Shutdown;
use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::app::App;
use crate::connection::{self, Phase};
use crate::deps::Deps;
use crate::error::{Error, Problem, Result};
use crate::host::unbracketed;
use crate::options::Options;
use crate::response;

/// How long accepting pauses when the system has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// How many refused connections are answered at once; further ones are just closed.
const MOST_REFUSALS: usize = 64;
/// How long a refused client has to read its answer.
const REFUSAL: Duration = Duration::from_secs(1);

/// The server, bound and not yet serving.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Binds the address.
    pub async fn bind(options: Options, deps: Deps) -> Result<Self> {
        let failed = |error: io::Error| {
            let (host, port) = (&options.host, options.port);
            let message = format!(
                "cannot listen on {host}, port {port}; change `channels.webchat.host` or `channels.webchat.port`"
            );
            Error::new(message, error)
        };
        let listener = TcpListener::bind((unbracketed(&options.host), options.port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { app: App::new(options, deps, address), listener, address })
    }

    /// The address that was bound, with the port that the system chose where 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The application, for whoever reloads it.
    pub fn app(&self) -> Arc<App> {
        Arc::clone(&self.app)
    }

    /// Serves until stopping is asked for and everything has ended, or the grace is over.
    pub async fn serve(self, mut shutdown: Shutdown) {
        let limits = &self.app.options.limits;
        let (grace, most) = (limits.shutdown_grace, limits.max_connections.clamp(1, Semaphore::MAX_PERMITS));
        let connections = Arc::new(Semaphore::new(most));
        let refusals = Arc::new(Semaphore::new(MOST_REFUSALS));
        let (phase, phases) = watch::channel(Phase::Serving);
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.requested() => break,
                accepted = self.listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            };
            if let Ok(permit) = Arc::clone(&connections).try_acquire_owned() {
                let app = Arc::clone(&self.app);
                tokio::spawn(connection::serve(stream, peer.ip(), permit, app, phases.clone()));
            } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
                let app = Arc::clone(&self.app);
                tokio::spawn(async move {
                    // A client that does not read its refusal in time goes without.
                    let _ = tokio::time::timeout(REFUSAL, refuse(stream, &app)).await;
                    drop(permit);
                });
            }
        }
        drop(self.listener);
        phase.send_replace(Phase::Draining);
        // Each connection holds a permit to its end: having all of them means that all have ended.
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        if tokio::time::timeout(grace, connections.acquire_many(all)).await.is_err() {
            let left = most - connections.available_permits();
            tracing::warn!(connections = left, "the grace is over; connections that have not ended are cut");
            phase.send_replace(Phase::Cut);
        }
    }
}

/// Errors of one connection are its own affair; without descriptors there is nothing to do but wait for some.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(PAUSE).await;
    }
}

async fn refuse(mut stream: TcpStream, app: &App) -> io::Result<()> {
    let detail = "as many connections are open as may be (`server.max_connections`)";
    let problem =
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail).retry_after(1);
    let answer = response::raw(problem, app.request_ids.next(), &app.date());
    stream.write_all(&answer).await?;
    stream.shutdown().await?;
    // What the client sends is read away, because a reset would take the answer from it.
    let mut waste = [0; 1024];
    while stream.read(&mut waste).await? > 0 {}
    Ok(())
}
