//! The listener: binds a port, a Unix socket or both, accepts within the limit, and shuts down in order.
//!
//! When all connections are taken and none can give way, a further one is answered with 503 and closed. At shutdown
//! the listener closes first, idle connections end at once, and running requests finish; what remains after the grace
//! period is cut. A WebSocket counts as a connection until it closes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::shutdown::Shutdown;
use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;

use crate::accepted::Accepted;
use crate::app::App;
use crate::connection::{self, Phase};
use crate::connections::Connections;
use crate::deps::Deps;
use crate::error::{Error, Problem, Result};
use crate::host::unbracketed;
use crate::log_throttle::LogThrottle;
use crate::loopback_guard::LoopbackGuard;
use crate::options::{Listen, Options};
use crate::response;
use crate::unix_peer::{self, UNIX_PEER, Walls};
use crate::unix_socket::UnixSocket;
use crate::ws::SWEEP;

/// How long accepting pauses when the system is out of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// How many refused connections are answered at a time. Further ones are just closed.
const MAX_REFUSALS: usize = 64;
/// How long a refused client has to read its response.
const REFUSAL: Duration = Duration::from_secs(1);

/// The server, bound but not yet serving.
pub struct Server {
    listeners: Listeners,
    address: Option<SocketAddr>,
    app: Arc<App>,
    /// Keeps other programs from being `localhost` on this port.
    loopback_guard: Option<LoopbackGuard>,
}

/// Where connections come from.
struct Listeners {
    port: Option<TcpListener>,
    socket: Option<UnixSocket>,
    /// The walls around this process, which those who connect to the socket may have as well.
    walls: Walls,
}

impl Server {
    /// Binds the address and the socket.
    pub async fn bind(options: Options, deps: Deps) -> Result<Self> {
        check_runtime()?;
        let port = bind_port(&options.listen).await?;
        let socket = options.listen.socket.as_deref().map(UnixSocket::bind).transpose()?;
        let address = port.as_ref().map(|(_, address)| *address);
        // The socket alone is as near as loopback.
        let nearest = address.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
        Ok(Self {
            app: App::new(options, deps, nearest),
            listeners: Listeners { port: port.map(|(listener, _)| listener), socket, walls: Walls::own() },
            address,
            loopback_guard: address.and_then(LoopbackGuard::hold),
        })
    }

    /// Creates a server from an existing application and listener.
    #[cfg(test)]
    pub(crate) fn over(app: Arc<App>, listener: TcpListener) -> io::Result<Self> {
        let address = Some(listener.local_addr()?);
        let listeners = Listeners { port: Some(listener), socket: None, walls: Walls::own() };
        Ok(Self { listeners, address, app, loopback_guard: None })
    }

    /// Returns the bound address, with the port the system chose if 0 was requested.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Returns the path of the Unix socket.
    pub fn socket_path(&self) -> Option<&Path> {
        self.listeners.socket.as_ref().map(UnixSocket::path)
    }

    /// Returns the application, for reloads.
    pub fn app(&self) -> Arc<App> {
        Arc::clone(&self.app)
    }

    /// Serves until shutdown is requested and everything has ended or the grace period is over.
    pub async fn serve(self, mut shutdown: Shutdown) {
        let limits = &self.app.options.limits;
        let (grace, most) = (limits.shutdown_grace, limits.max_connections.clamp(1, Semaphore::MAX_PERMITS));
        let permits = Arc::new(Semaphore::new(most));
        let connections = Arc::new(Connections::new(most));
        let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
        let (phase, phases) = watch::channel(Phase::Serving);
        let (failing, crowded) = (LogThrottle::default(), LogThrottle::default());
        let mut sweeps = tokio::time::interval(SWEEP);
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.requested() => break,
                // Also without new connections, or the logs of idle conversations would stay until someone connects.
                _ = sweeps.tick() => {
                    self.app.deps.chat.hub.sweep();
                    continue;
                }
                accepted = self.listeners.accept(&self.app) => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(Unaccepted::Failed(error)) => {
                    pause_after(&error, &failing).await;
                    continue;
                }
                Err(Unaccepted::Refused(stream, why)) => {
                    if let Some(others) = failing.line() {
                        tracing::warn!(why, others, "a connection to the Unix socket was refused");
                    }
                    let place = Arc::clone(&refusals).try_acquire_owned();
                    let problem = Problem::new(StatusCode::FORBIDDEN, "peer_refused", why);
                    refuse_in(place.ok(), stream, problem, &self.app);
                    continue;
                }
            };
            let entrance = Entrance {
                app: Arc::clone(&self.app),
                connections: Arc::clone(&connections),
                permits: Arc::clone(&permits),
                phases: phases.clone(),
            };
            if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
                entrance.admit(stream, peer, permit);
            } else {
                if let Some(others) = crowded.line() {
                    tracing::warn!(
                        address = unix_peer::shown(peer),
                        others,
                        most,
                        "all connections are taken (`server.max_connections`)"
                    );
                }
                if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
                    tokio::spawn(async move {
                        entrance.admit_or_refuse(stream, peer).await;
                        drop(place);
                    });
                }
            }
        }
        drop((self.listeners, self.loopback_guard));
        phase.send_replace(Phase::Draining);
        // Each connection holds a permit until it ends, so acquiring all permits means that all have ended.
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        if tokio::time::timeout(grace, permits.acquire_many(all)).await.is_err() {
            let left = most - permits.available_permits();
            tracing::warn!(connections = left, "the grace is over; connections that have not ended are cut");
            phase.send_replace(Phase::Cut);
        }
    }
}

/// Why there is no connection.
enum Unaccepted {
    /// The system gave none.
    Failed(io::Error),
    /// The peer may not connect.
    Refused(Accepted, &'static str),
}

impl Listeners {
    /// Waits for the next connection, and tells where it comes from.
    async fn accept(&self, app: &App) -> std::result::Result<(Accepted, IpAddr), Unaccepted> {
        let port = async {
            match &self.port {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        let socket = async {
            match &self.socket {
                Some(socket) => socket.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = port => {
                accepted.map(|(stream, peer)| (Accepted::Tcp(stream), peer.ip())).map_err(Unaccepted::Failed)
            }
            accepted = socket => {
                let stream = accepted.map_err(Unaccepted::Failed)?;
                let has_token = !app.rules.get().token_auth.is_open();
                match unix_peer::refusal(&stream, self.walls, has_token) {
                    None => Ok((Accepted::Unix(stream), UNIX_PEER)),
                    Some(why) => Err(Unaccepted::Refused(Accepted::Unix(stream), why)),
                }
            }
        }
    }
}

/// Checks that the runtime of the caller can wait for connections; tokio would panic.
fn check_runtime() -> Result<()> {
    let has_driver = std::panic::catch_unwind(|| drop(tokio::net::UnixStream::pair())).is_ok();
    let remedy = "build it with `enable_io` or `enable_all`, or set `channels.webchat.enabled` to false";
    if has_driver {
        Ok(())
    } else {
        Err(Error::refused(format!("this Tokio runtime has no I/O, so nothing can listen: {remedy}")))
    }
}

async fn bind_port(listen: &Listen) -> Result<Option<(TcpListener, SocketAddr)>> {
    let Some(port) = listen.port else { return Ok(None) };
    let host = &listen.host;
    let failed = |error: io::Error| {
        let message = format!(
            "cannot listen on {host}, port {port}; change `channels.webchat.host` or `channels.webchat.port`"
        );
        Error::new(message, error)
    };
    let listener = TcpListener::bind((unbracketed(host), port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, address)))
}

/// The state needed to admit a new connection.
struct Entrance {
    app: Arc<App>,
    connections: Arc<Connections>,
    permits: Arc<Semaphore>,
    phases: watch::Receiver<Phase>,
}

impl Entrance {
    fn admit(self, stream: Accepted, peer: IpAddr, permit: OwnedSemaphorePermit) {
        let proxies = &self.app.rules.get().trusted_proxies;
        let is_proxy = proxies.iter().any(|network| network.contains(peer));
        let slot = self.connections.add(peer, permit, is_proxy);
        tokio::spawn(connection::serve(stream, peer, slot, self.app, self.phases));
    }

    /// Admits a connection if an idle one can give way, and refuses it otherwise. A client that does not read its
    /// refusal in time gets none.
    async fn admit_or_refuse(self, stream: Accepted, peer: IpAddr) {
        if self.connections.make_room() {
            let permit = Arc::clone(&self.permits).acquire_owned();
            if let Ok(Ok(permit)) = tokio::time::timeout(REFUSAL, permit).await {
                return self.admit(stream, peer, permit);
            }
        }
        let detail = "as many connections are open as may be (`server.max_connections`)";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", detail);
        let _ = tokio::time::timeout(REFUSAL, refuse(stream, problem.retry_after(1), &self.app)).await;
    }
}

/// Waits after an error of accept. Errors of a single connection need no pause; without file descriptors there is
/// nothing to do but wait.
async fn pause_after(error: &io::Error, throttle: &LogThrottle) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        if let Some(others) = throttle.line() {
            tracing::warn!(%error, others, "a connection could not be accepted");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Refuses a connection with an answer, if there is a place for that.
fn refuse_in(place: Option<OwnedSemaphorePermit>, stream: Accepted, problem: Problem, app: &Arc<App>) {
    let Some(place) = place else { return };
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let _ = tokio::time::timeout(REFUSAL, refuse(stream, problem, &app)).await;
        drop(place);
    });
}

async fn refuse(mut stream: Accepted, problem: Problem, app: &App) -> io::Result<()> {
    let answer = response::raw(problem, app.request_ids.next(), &app.date());
    stream.write_all(&answer).await?;
    stream.shutdown().await?;
    // Drain the client's input, because a reset could destroy the response before it is read.
    let mut waste = [0; 1024];
    while stream.read(&mut waste).await? > 0 {}
    Ok(())
}
