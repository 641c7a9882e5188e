//! The socket as hyper sees it, with timeouts and limits on every wait.
//!
//! hyper parses and frames. This stream adds the protections of an exposed server. A head that arrives too slowly
//! is answered with 408, an idle connection is closed, a client that stops reading is dropped, and hyper's bare
//! responses to unparsable input are replaced by complete ones with a body and our headers. Only the start of a
//! response can be replaced, never part of one in progress. If a connection is closed while the client still sends,
//! the rest is read for a moment, because a reset could destroy the response before the client reads it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::accepted::Accepted;
use crate::app::App;
use crate::connections::ConnectionSlot;
use crate::error::Problem;
use crate::progress::Progress;
use crate::response;
use crate::traffic::{Kind, Present};

/// The largest request head in bytes. A larger one is answered with 431.
pub(crate) const MAX_HEAD: usize = 32 * 1024;
/// How long the rest of a head may take once the program shuts down.
const LAST_CALL: Duration = Duration::from_secs(1);
/// How long a client may accept no bytes at all. A large response as a whole may take longer.
const STALL: Duration = Duration::from_secs(30);
/// How many unsent bytes the kernel may buffer. A low mark makes the socket writable again as soon as a part of that
/// is sent, rather than when a third of a multi-megabyte buffer is free, so progress of a slow reader is noticed.
const UNSENT: u32 = 128 << 10;
/// How long to keep reading the rest of a request after a response that did not wait for it.
const LINGER: Duration = Duration::from_secs(3);

/// The event that the stream waits for while no request is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The first byte of the first head.
    First,
    /// The rest of a head.
    Rest,
    /// The first byte of a subsequent head.
    Next,
}

/// Sets the options of an accepted socket. A Unix socket has none of them.
pub(crate) fn set_options(stream: &Accepted) {
    let Accepted::Tcp(stream) = stream else { return };
    // Small responses must not wait for more data. An error means that the peer is gone, which reading reveals too.
    let _ = stream.set_nodelay(true);
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}

/// The guarded socket. It keeps its slot, even after becoming a WebSocket.
pub(crate) struct GuardedStream {
    stream: Accepted,
    app: Arc<App>,
    progress: Arc<Progress>,
    awaited: Awaited,
    since: Instant,
    /// How long the wait for the next head may take.
    idle: Duration,
    /// The number of responses when the wait began.
    answered: u32,
    read_timer: Option<Pin<Box<Sleep>>>,
    write_timer: Option<Pin<Box<Sleep>>>,
    /// Bytes of ours that replace hyper's.
    own: Vec<u8>,
    /// Whether the last write was partial, so that the next one starts mid-response.
    is_mid_write: bool,
    is_shut: bool,
    _present: Present,
    slot: ConnectionSlot,
}

impl GuardedStream {
    /// Guards a socket and holds its slot.
    pub(crate) fn new(stream: Accepted, app: Arc<App>, slot: ConnectionSlot) -> Self {
        Self {
            stream,
            idle: app.options.limits.idle_unknown,
            _present: app.traffic.enter(Kind::Connection),
            app,
            progress: Arc::clone(slot.progress()),
            awaited: Awaited::First,
            since: Instant::now(),
            answered: 0,
            read_timer: None,
            write_timer: None,
            own: Vec::new(),
            is_mid_write: false,
            is_shut: false,
            slot,
        }
    }

    /// Records that bytes arrived, possibly the first of a head.
    fn heard(&mut self) {
        if self.progress.is_waiting() && (self.has_new_wait() || self.awaited != Awaited::Rest) {
            self.awaited = Awaited::Rest;
            self.since = Instant::now();
        }
    }

    /// Returns whether a response was sent since the last check, so that a new wait begins.
    fn has_new_wait(&mut self) -> bool {
        let answered = self.progress.answered();
        std::mem::replace(&mut self.answered, answered) != answered
    }

    /// Limits the wait for incoming bytes.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.progress.is_waiting() {
            if self.progress.is_upgraded() {
                self.read_timer = None;
            }
            return Poll::Pending;
        }
        if self.has_new_wait() {
            self.awaited = Awaited::Next;
            self.since = Instant::now();
            self.idle = self.idle_limit();
        }
        let mut limit =
            if self.awaited == Awaited::Next { self.idle } else { self.app.options.limits.header_timeout };
        if self.app.deps.runtime.shutdown.is_requested() {
            // No request runs yet for an unfinished head, so it must not delay shutdown.
            limit = limit.min(LAST_CALL);
        }
        let deadline = self.since + limit;
        loop {
            let timer = self.read_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            // When a new wait begins, the timer is left alone: checking the deadline here is cheaper than resetting
            // it per request.
            if Instant::now() >= deadline {
                return Poll::Ready(self.give_up());
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// Returns how long the connection may idle. The limit is short for strangers, since occupying a connection costs
    /// them nothing.
    fn idle_limit(&self) -> Duration {
        let limits = &self.app.options.limits;
        let is_known = self.progress.is_known() || self.slot.is_from_proxy() || self.app.is_open_to_all();
        if is_known { limits.idle } else { limits.idle_unknown }
    }

    /// Ends a wait: an unfinished head is answered, an idle connection is simply closed.
    fn give_up(&mut self) -> io::Result<()> {
        if self.awaited != Awaited::Rest {
            return Ok(());
        }
        let problem = Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "header_timeout",
            "the head of the request did not arrive in time (`server.header_timeout_seconds`)",
        );
        // Nothing else is being sent, so this fits in the socket's buffer. If not, the client only sees the
        // connection close.
        let _ = self.stream.try_write(&self.whole(problem));
        Err(io::ErrorKind::TimedOut.into())
    }

    fn whole(&self, problem: Problem) -> Vec<u8> {
        response::raw(problem, self.app.request_ids.next(), &self.app.date())
    }

    /// Replaces a bare response of hyper with a complete one.
    fn replaces(&mut self, head: &[u8]) -> bool {
        if !self.progress.is_waiting() || self.is_mid_write {
            // The data of a body or a WebSocket may look like such a response, and a write can start anywhere in it.
            return false;
        }
        let Some(problem) = unparsable(head) else { return false };
        self.progress.expect_body();
        self.own = self.whole(problem);
        true
    }

    fn note_written(&mut self, written: &Poll<io::Result<usize>>, offered: usize) {
        if let Poll::Ready(Ok(written)) = written {
            self.is_mid_write = *written < offered;
        }
    }

    fn poll_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.own.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.own))?;
            self.own.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Limits the wait for a client that accepts no bytes.
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
        // A WebSocket sends its close code before it ends, and gets the time for that.
        self.write_timer = None;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads the client's remaining input until the client sees our end of the stream or the time is up.
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

impl AsyncRead for GuardedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_pending() {
            this.progress.tell(cx.waker());
            // Checked after registering the waker, so that a close is not missed. End of input ends whatever reads
            // here.
            return if this.progress.is_closed() { Poll::Ready(Ok(())) } else { this.poll_patience(cx) };
        }
        if buffer.filled().len() > before {
            this.progress.touch();
            this.heard();
        }
        read
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_own(cx))?;
        if this.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.note_written(&written, bytes.len());
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
        this.note_written(&written, slices.iter().map(|slice| slice.len()).sum());
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
        let is_stopping = this.app.deps.runtime.shutdown.is_requested();
        if this.progress.is_unread() && !is_stopping {
            ready!(this.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns the problem that corresponds to one of hyper's own responses to unparsable input. Our responses carry a
/// request id.
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::connections::Connections;

    const BARE: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";

    async fn guarded(socket: TcpStream) -> GuardedStream {
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let slot = Arc::new(Connections::new(100)).add("127.0.0.1".parse().unwrap(), permit, false);
        GuardedStream::new(Accepted::Tcp(socket), crate::service::tests::app(), slot)
    }

    /// Returns the text that a client reads when these bytes are written at this stage.
    async fn written(progress: &Arc<Progress>, bytes: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        let mut stream = guarded(socket).await;
        stream.progress = Arc::clone(progress);
        stream.write_all(bytes).await.unwrap();
        stream.flush().await.unwrap();
        drop(stream);
        let mut read = String::new();
        client.read_to_string(&mut read).await.unwrap();
        read
    }

    #[tokio::test]
    async fn a_body_that_looks_like_a_bare_error_is_unchanged() {
        for bytes in [BARE, b"HTTP/1.1 414 x", b"HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n"] {
            // However the body is split, each part may begin like a response head.
            for parts in [vec![bytes], vec![b"x".as_slice(), bytes], vec![bytes, bytes]] {
                let progress = Arc::new(Progress::default());
                progress.begin();
                let sending = progress.sending();
                let whole = parts.concat();
                assert_eq!(written(&progress, &whole).await.as_bytes(), whole);
                drop(sending);
            }
        }
    }

    #[tokio::test]
    async fn bare_errors_are_replaced_at_the_start_of_a_response_only() {
        let progress = Arc::new(Progress::default());
        let whole = written(&progress, BARE).await;
        assert!(whole.contains("x-request-id") && whole.contains("bad_request"), "{whole}");

        // As part of a body, the same bytes are passed on unchanged.
        progress.begin();
        let sending = progress.sending();
        assert_eq!(written(&progress, BARE).await.as_bytes(), BARE);
        drop(sending);
        assert!(written(&progress, BARE).await.contains("bad_request"));

        progress.upgrade();
        assert_eq!(written(&progress, BARE).await.as_bytes(), BARE);
    }
}
