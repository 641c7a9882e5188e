//! One connection: its time-outs, its limits, its end.
//!
//! hyper parses and frames; this adds what a server in the open needs besides. [`Wire`] is the socket as hyper sees it:
//! a head that comes too slowly is answered 408, an idle connection is closed after a while, a reader that takes nothing
//! is given up, and the bare answers that hyper gives to what it cannot parse are replaced by whole ones, with a body and
//! our headers. When a connection is closed while the client still sends, the rest is read for a moment, because a reset
//! would take the answer away from the client before it was read.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{CONNECTION, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, Sleep};

use crate::app::App;
use crate::error::Problem;
use crate::request::RequestBody;
use crate::response::{self, Response};
use crate::service::{self, Answering};

/// The largest head of a request. More is 431.
const MAX_HEAD: usize = 32 * 1024;
/// How long a connection may be idle between requests.
const IDLE: Duration = Duration::from_secs(75);
/// How long the rest of a head may take once the program stops.
const LAST_CALL: Duration = Duration::from_secs(1);
/// How long a client may take nothing of what is written to it, as the system tells it: room in a full buffer is told when a
/// good part of it (up to a megabyte) is free. A large answer may take longer than this as a whole.
const STALL: Duration = Duration::from_secs(30);
/// For how long the rest of what a client sends is read after an answer that did not wait for it.
const LINGER: Duration = Duration::from_secs(3);

/// How far the end of the server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It has not begun.
    Serving,
    /// Requests are finished, nothing new begins.
    Draining,
    /// What is left is dropped.
    Cut,
}

/// Serves one connection to its end, or until it has become a WebSocket.
pub(crate) async fn serve(
    stream: TcpStream,
    peer: IpAddr,
    permit: OwnedSemaphorePermit,
    app: Arc<App>,
    mut phase: watch::Receiver<Phase>,
) {
    // Small answers must not wait for more to come. An error here means that the peer is gone, which reading tells too.
    let _ = stream.set_nodelay(true);
    let progress = Arc::new(Progress::default());
    let wire = Wire::new(stream, Arc::clone(&app), Arc::clone(&progress), permit);
    let mut builder = http1::Builder::new();
    builder.half_close(true).header_read_timeout(None).max_buf_size(MAX_HEAD);
    let service = Service { app, progress, peer };
    let mut connection = pin!(builder.serve_connection(TokioIo::new(wire), service).with_upgrades());
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
            // An error means that the server is gone, and with it the wish to serve.
            next = phase.wait_for(|phase| *phase > known) => next.map_or(Phase::Cut, |phase| *phase),
        };
        if next == Phase::Cut {
            return;
        }
        known = next;
        connection.as_mut().graceful_shutdown();
    }
}

/// The application for one connection.
struct Service {
    app: Arc<App>,
    progress: Arc<Progress>,
    peer: IpAddr,
}

impl hyper::service::Service<http::Request<Incoming>> for Service {
    type Response = Response;
    type Error = std::convert::Infallible;
    type Future = Answering;

    fn call(&self, request: http::Request<Incoming>) -> Answering {
        let (head, body) = request.into_parts();
        self.progress.begin();
        let body = RequestBody::incoming(body, &self.progress);
        let progress = Arc::clone(&self.progress);
        service::call(&self.app, head, body, self.peer, move |answer| progress.done(answer))
    }
}

const WAITING: u8 = 0;
const BUSY: u8 = 1;
const UPGRADED: u8 = 2;

/// Where a connection stands, as the application knows it and the wire needs it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    stage: AtomicU8,
    /// How many requests were answered.
    answered: AtomicU32,
    /// Whether a body is on its way that nobody has read to its end.
    is_unread: AtomicBool,
}

impl Progress {
    fn begin(&self) {
        self.is_unread.store(false, Ordering::Relaxed);
        self.stage.store(BUSY, Ordering::Relaxed);
    }

    /// A body is on its way.
    pub(crate) fn expect_body(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    /// The body was read to its end.
    pub(crate) fn body_is_read(&self) {
        self.is_unread.store(false, Ordering::Relaxed);
    }

    /// Notes that the answer is there. With a body that nobody has read, the connection cannot be used again.
    fn done(&self, answer: &mut Response) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let is_upgrade = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
        if self.is_unread.load(Ordering::Relaxed) && !is_upgrade {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.stage.store(if is_upgrade { UPGRADED } else { WAITING }, Ordering::Relaxed);
    }

    fn is(&self, stage: u8) -> bool {
        self.stage.load(Ordering::Relaxed) == stage
    }
}

/// What the wire waits for while no request is being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The first byte of the first head.
    First,
    /// The rest of a head.
    Rest,
    /// The first byte of a further head.
    Next,
}

/// The socket as hyper sees it. The permit goes with it, into a WebSocket too.
struct Wire {
    stream: TcpStream,
    app: Arc<App>,
    progress: Arc<Progress>,
    awaited: Awaited,
    since: Instant,
    /// How many answers there were when the wait began.
    answered: u32,
    read_timer: Option<Pin<Box<Sleep>>>,
    write_timer: Option<Pin<Box<Sleep>>>,
    /// Bytes of ours that go out in place of hyper's.
    own: Vec<u8>,
    is_shut: bool,
    _permit: OwnedSemaphorePermit,
}

impl Wire {
    fn new(stream: TcpStream, app: Arc<App>, progress: Arc<Progress>, permit: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            app,
            progress,
            awaited: Awaited::First,
            since: Instant::now(),
            answered: 0,
            read_timer: None,
            write_timer: None,
            own: Vec::new(),
            is_shut: false,
            _permit: permit,
        }
    }

    /// Notes that bytes came: perhaps the first of a head.
    fn heard(&mut self) {
        if self.progress.is(WAITING) && (self.has_new_wait() || self.awaited != Awaited::Rest) {
            self.awaited = Awaited::Rest;
            self.since = Instant::now();
        }
    }

    /// Whether an answer was given since the wire last looked, so that a new wait begins.
    fn has_new_wait(&mut self) -> bool {
        let answered = self.progress.answered.load(Ordering::Relaxed);
        std::mem::replace(&mut self.answered, answered) != answered
    }

    /// Bounds the wait for bytes.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.progress.is(WAITING) {
            if self.progress.is(UPGRADED) {
                self.read_timer = None;
            }
            return Poll::Pending;
        }
        if self.has_new_wait() {
            self.awaited = Awaited::Next;
            self.since = Instant::now();
        }
        let mut limit =
            if self.awaited == Awaited::Next { IDLE } else { self.app.options.limits.header_timeout };
        if self.app.deps.shutdown.is_requested() {
            // Nothing runs for a head that may never end, so it does not hold the end of the program up.
            limit = limit.min(LAST_CALL);
        }
        let deadline = self.since + limit;
        loop {
            let timer = self.read_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            // The timer is left where it is when a new wait begins, which is cheaper than moving it for each request.
            if Instant::now() >= deadline {
                return Poll::Ready(self.give_up());
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// The end of a wait: an unfinished head is answered, an idle connection just ends.
    fn give_up(&mut self) -> io::Result<()> {
        if self.awaited != Awaited::Rest {
            return Ok(());
        }
        let problem = Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "header_timeout",
            "the head of the request did not arrive in time (`server.header_timeout_seconds`)",
        );
        // Nothing else is on its way out, so this fits into the socket's buffer; if not, the client is told by the end.
        let _ = self.stream.try_write(&self.whole(problem));
        Err(io::ErrorKind::TimedOut.into())
    }

    fn whole(&self, problem: Problem) -> Vec<u8> {
        response::raw(problem, self.app.request_ids.next(), &date(&self.app))
    }

    /// Takes a bare answer of hyper out of the way and a whole one in its place.
    fn replaces(&mut self, head: &[u8]) -> bool {
        if self.progress.is(UPGRADED) {
            // What goes over a WebSocket may say anything, and a write may begin anywhere in it.
            return false;
        }
        let Some(problem) = unparsable(head) else { return false };
        self.progress.expect_body();
        self.own = self.whole(problem);
        true
    }

    fn poll_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.own.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.own))?;
            self.own.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Bounds the wait for a client that takes nothing.
    fn poll_stall(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL)));
        ready!(timer.as_mut().poll(cx));
        // A WebSocket says why before it goes, and gets the time for that.
        self.write_timer = None;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads what the client still sends, until it has seen our end or the moment is over.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut waste = [0; 8192];
        loop {
            let mut waste = ReadBuf::new(&mut waste);
            match Pin::new(&mut self.stream).poll_read(cx, &mut waste) {
                Poll::Ready(Ok(())) if !waste.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        timer.as_mut().poll(cx)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_pending() {
            return this.poll_patience(cx);
        }
        if buffer.filled().len() > before {
            this.heard();
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_own(cx))?;
        if this.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.poll_stall(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_own(cx))?;
        if slices.first().is_some_and(|head| this.replaces(head)) {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.poll_stall(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_own(cx))?;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut {
            ready!(this.poll_own(cx))?;
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            this.is_shut = true;
            this.write_timer = None;
        }
        let is_stopping = this.app.deps.shutdown.is_requested();
        if this.progress.is_unread.load(Ordering::Relaxed) && !is_stopping {
            ready!(this.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// The problem behind one of hyper's own answers, which it gives to what it cannot parse. Ours carry a request id.
fn unparsable(head: &[u8]) -> Option<Problem> {
    let status = head.strip_prefix(b"HTTP/1.1 ").filter(|rest| rest.first() == Some(&b'4'))?.get(..3)?;
    let name = response::X_REQUEST_ID;
    if head.windows(name.as_str().len()).any(|window| window == name.as_str().as_bytes()) {
        return None;
    }
    match status {
        b"400" => Some(Problem::bad_request("bad_request", "this is not a well-formed HTTP/1.1 request")),
        b"414" => Some(Problem::new(StatusCode::URI_TOO_LONG, "uri_too_long", "the address is too long")),
        b"431" => Some(Problem::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            "the head of the request is larger than 32 KiB or has more than 100 fields",
        )),
        _ => None,
    }
}

/// The time for a `Date` header.
pub(crate) fn date(app: &App) -> String {
    httpdate::fmt_http_date(SystemTime::from(app.deps.clock.now()))
}
