//! The connection as the task of a socket sees it: texts in, texts out.
//!
//! An idle socket costs one task, one timer and small buffers. Everything a peer can do is bounded: the length of
//! messages, their rate (excess ones wait in the network) and how long pings may go unanswered. The connection limits
//! how long a write may stall, as for HTTP. However a connection ends, the peer is sent a close code, and its further
//! input is discarded until it has had time to see the code.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, Sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as WsError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// The longest message in bytes.
const MAX_MESSAGE: usize = 1 << 20;
/// The size of an idle socket's read buffer.
const READ_BUFFER: usize = 1 << 10;
/// How many bytes are collected before writing, when several frames go out at once.
const WRITE_BUFFER: usize = 8 << 10;
/// The longest text sent as one frame.
const WHOLE: usize = 128 << 10;
/// The interval between pings.
const PING: Duration = Duration::from_secs(30);
/// How many pings may go unanswered.
const MAX_SILENT: u8 = 2;
/// Messages per second, and the burst size. Each text sent to the peer earns one message back: a client that waits
/// for each response is never delayed, while one that only sends is.
const PACE: (f32, f32) = (50.0, 100.0);

/// The underlying byte stream.
pub(super) type Io = TokioIo<Upgraded>;

/// Why a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Close {
    code: CloseCode,
    reason: &'static str,
}

impl Close {
    /// 1001: the program shuts down.
    pub(super) const AWAY: Self = Self { code: CloseCode::Away, reason: "the service is shutting down" };
    /// 1003: a binary frame came.
    pub(super) const BINARY: Self = Self { code: CloseCode::Unsupported, reason: "send text frames" };
    /// 1007: a text frame was not UTF-8.
    const NOT_TEXT: Self = Self { code: CloseCode::Invalid, reason: "a text frame was not valid UTF-8" };
    /// 1009: a message was too long.
    const TOO_LONG: Self = Self { code: CloseCode::Size, reason: "a message is limited to 1 MiB" };
    /// 1002: not the WebSocket protocol.
    const PROTOCOL: Self = Self { code: CloseCode::Protocol, reason: "protocol error" };
    /// 1008: the session name is invalid.
    pub(super) const BAD_SESSION: Self =
        Self { code: CloseCode::Policy, reason: "session: not a valid name" };
    /// 1008: not admitted.
    pub(super) const REFUSED: Self = Self { code: CloseCode::Policy, reason: "origin or token not accepted" };
    /// 1008: its sign-in has ended.
    const SIGNED_OUT: Self = Self { code: CloseCode::Policy, reason: "signed out; sign in again" };
    /// 1013: the peer reads too slowly.
    pub(super) const TOO_SLOW: Self =
        Self { code: CloseCode::Again, reason: "too slow; connect again and resume" };
    /// 1011: an internal error.
    pub(super) const FAILED: Self = Self { code: CloseCode::Error, reason: "internal error" };

    /// Returns how long writing the close frame may take, and how long the peer then has to read it.
    fn patience(self) -> (Duration, Duration) {
        match self.code {
            // Shutdown does not wait for peers.
            CloseCode::Away => (Duration::from_millis(100), Duration::from_millis(50)),
            CloseCode::Again => (Duration::from_secs(10), Duration::from_secs(2)),
            _ => (Duration::from_secs(5), Duration::from_secs(2)),
        }
    }
}

/// An input from the peer or the timer.
#[derive(Debug)]
pub(super) enum Received {
    /// A text message.
    Text(Utf8Bytes),
    /// The requested alarm, or a regular tick for housekeeping.
    Tick,
    /// The connection has ended.
    Over,
    /// The peer violated the protocol.
    Wrong(Close),
}

/// The connection cannot be written to: it has ended, the peer does not read, or its access has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unwritable {
    close: Option<Close>,
}

impl Unwritable {
    /// Returns the close code that remains to be sent, if any.
    pub(super) fn close(self) -> Option<Close> {
        self.close
    }
}

/// A connection.
pub(super) struct Socket {
    stream: WebSocketStream<Io>,
    timer: Pin<Box<Sleep>>,
    next_ping: Instant,
    silent: u8,
    needs_flush: bool,
    /// When the task asked to be woken.
    alarm: Option<Instant>,
    /// Until when nothing is read, because the peer sent too much.
    paused: Option<Instant>,
    allowance: f32,
    counted: Instant,
    /// Resolves when the peer's access ends; `None` afterwards.
    lease: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Socket {
    /// Takes over an upgraded connection. It is closed when `lease` resolves.
    pub(super) async fn new(io: Io, lease: impl Future<Output = ()> + Send + 'static) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let now = Instant::now();
        Self {
            stream,
            timer: Box::pin(tokio::time::sleep_until(now + PING)),
            next_ping: now + PING,
            silent: 0,
            needs_flush: false,
            alarm: None,
            paused: None,
            allowance: PACE.1,
            counted: now,
            lease: Some(Box::pin(lease)),
        }
    }

    /// Requests a [`Received::Tick`] after this time.
    pub(super) fn wake_after(&mut self, time: Duration) {
        self.alarm = Some(Instant::now() + time);
        self.set_timer();
    }

    /// Waits for the next input. Unless `may_read`, nothing is read, so that the peer has to wait. Cancel safe.
    pub(super) async fn receive(&mut self, may_read: bool) -> Received {
        poll_fn(|context| self.poll_receive(context, may_read)).await
    }

    fn poll_receive(&mut self, context: &mut Context<'_>, may_read: bool) -> Poll<Received> {
        if poll_end(&mut self.lease, context).is_ready() {
            return Poll::Ready(Received::Wrong(Close::SIGNED_OUT));
        }
        loop {
            if self.timer.as_mut().poll(context).is_ready() {
                if let Some(received) = self.tick(may_read) {
                    return Poll::Ready(received);
                }
                continue;
            }
            if self.needs_flush {
                match Pin::new(&mut self.stream).poll_flush(context) {
                    Poll::Ready(Err(error)) => return Poll::Ready(fault(&error)),
                    flushed => self.needs_flush = flushed.is_pending(),
                }
            }
            if !may_read || self.paused.is_some() {
                return Poll::Pending;
            }
            let Poll::Ready(message) = Pin::new(&mut self.stream).poll_next(context) else {
                return Poll::Pending;
            };
            self.silent = 0;
            match message {
                Some(Ok(Message::Text(text))) => {
                    self.count();
                    return Poll::Ready(Received::Text(text));
                }
                Some(Ok(Message::Binary(_))) => return Poll::Ready(Received::Wrong(Close::BINARY)),
                // Pongs and close replies are written by the next read.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => self.count(),
                Some(Ok(Message::Close(_) | Message::Frame(_))) => {}
                None => return Poll::Ready(Received::Over),
                Some(Err(error)) => return Poll::Ready(fault(&error)),
            }
        }
    }

    /// Handles the expired timer.
    fn tick(&mut self, may_read: bool) -> Option<Received> {
        let now = Instant::now();
        let mut received = None;
        if self.alarm.is_some_and(|alarm| alarm <= now) {
            self.alarm = None;
            received = Some(Received::Tick);
        }
        if self.paused.is_some_and(|paused| paused <= now) {
            self.paused = None;
        }
        if self.next_ping <= now {
            self.next_ping = now + PING;
            received = Some(if self.silent >= MAX_SILENT { Received::Over } else { Received::Tick });
            self.ping();
            // While we do not read, an unanswered ping is not the peer's fault.
            self.silent += u8::from(may_read && self.paused.is_none());
        }
        self.set_timer();
        received
    }

    fn ping(&mut self) {
        let mut context = Context::from_waker(std::task::Waker::noop());
        // While a write stalls, a ping is pointless; the write's own deadline ends it.
        if let Poll::Ready(Ok(())) = Pin::new(&mut self.stream).poll_ready(&mut context) {
            let ping = Message::Ping(Bytes::new());
            self.needs_flush = Pin::new(&mut self.stream).start_send(ping).is_ok();
        }
    }

    /// Counts a message, and pauses reading when too many came.
    fn count(&mut self) {
        let now = Instant::now();
        let refilled = self.allowance + (now - self.counted).as_secs_f32() * PACE.0;
        self.allowance = refilled.min(PACE.1) - 1.0;
        self.counted = now;
        if self.allowance < 0.0 {
            self.paused = Some(now + Duration::from_secs_f32(-self.allowance / PACE.0));
            self.set_timer();
        }
    }

    fn set_timer(&mut self) {
        let deadline = [self.alarm, self.paused].into_iter().flatten().fold(self.next_ping, Instant::min);
        if self.timer.deadline() != deadline || self.timer.is_elapsed() {
            self.timer.as_mut().reset(deadline);
        }
    }

    /// Sends a text.
    pub(super) async fn send(&mut self, text: Utf8Bytes) -> Result<(), Unwritable> {
        self.send_all(std::iter::once(text)).await
    }

    /// Sends several texts in one write.
    pub(super) async fn send_all(
        &mut self,
        texts: impl IntoIterator<Item = Utf8Bytes>,
    ) -> Result<(), Unwritable> {
        let mut sent = 0.0;
        let writing = async {
            for text in texts {
                sent += 1.0;
                if text.len() <= WHOLE {
                    self.stream.feed(Message::Text(text)).await?;
                } else {
                    send_in_parts(&mut self.stream, text).await?;
                }
            }
            self.stream.flush().await
        };
        let lease = &mut self.lease;
        let written = tokio::select! {
            biased;
            () = poll_fn(|context| poll_end(lease, context)) => Err(Some(Close::SIGNED_OUT)),
            written = writing => written.map_err(|error| is_timeout(&error).then_some(Close::TOO_SLOW)),
        };
        written.map_err(|close| Unwritable { close })?;
        self.allowance = (self.allowance + sent).min(PACE.1);
        if self.allowance >= 0.0 && self.paused.take().is_some() {
            self.set_timer();
        }
        Ok(())
    }

    /// Closes the connection with a code.
    pub(super) async fn close(mut self, close: Close) {
        let frame = CloseFrame { code: close.code, reason: Utf8Bytes::from_static(close.reason) };
        let written = timeout(close.patience().0, self.stream.send(Message::Close(Some(frame)))).await;
        if matches!(written, Ok(Ok(()))) {
            linger(self.stream.get_mut(), close.patience().1).await;
        }
    }
}

/// Sends a long text in several frames, so that at most one frame is buffered besides the text itself.
async fn send_in_parts(stream: &mut WebSocketStream<Io>, text: Utf8Bytes) -> Result<(), WsError> {
    let mut rest = Bytes::from(text);
    let mut kind = Data::Text;
    while !rest.is_empty() {
        let part = rest.split_to(rest.len().min(WHOLE));
        let frame = Frame::message(part, OpCode::Data(kind), rest.is_empty());
        stream.send(Message::Frame(frame)).await?;
        kind = Data::Continue;
    }
    Ok(())
}

/// Returns whether the peer's access has ended.
fn poll_end(
    lease: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let is_over = lease.as_mut().is_none_or(|lease| lease.as_mut().poll(context).is_ready());
    if !is_over {
        return Poll::Pending;
    }
    *lease = None;
    Poll::Ready(())
}

/// Returns whether a write stalled for as long as the connection allows.
fn is_timeout(error: &WsError) -> bool {
    matches!(error, WsError::Io(error) if error.kind() == std::io::ErrorKind::TimedOut)
}

/// Closes a connection with a code before anything was read from it.
pub(super) async fn refuse(mut io: Io, close: Close) {
    // An unmasked server close frame: opcode, length, code, reason. All reasons are far below the limit of 123 bytes.
    let mut frame = vec![0x88, u8::try_from(close.reason.len() + 2).unwrap_or(2)];
    frame.extend(u16::from(close.code).to_be_bytes());
    frame.extend(close.reason.as_bytes());
    if let Ok(Ok(())) = timeout(close.patience().0, io.write_all(&frame)).await {
        linger(&mut io, close.patience().1).await;
    }
}

/// Closes our half and waits briefly for the peer to close its own. Dropping the connection while the peer still
/// sends would reset it, and the peer would never see our last frame.
async fn linger(io: &mut Io, patience: Duration) {
    let ending = async {
        if io.shutdown().await.is_ok() {
            let mut sink = vec![0; 1024];
            while io.read(&mut sink).await.is_ok_and(|length| length > 0) {}
        }
    };
    // When the time is up, the connection is dropped regardless.
    let _ = timeout(patience, ending).await;
}

/// Classifies a failed read.
fn fault(error: &WsError) -> Received {
    match error {
        _ if is_timeout(error) => Received::Wrong(Close::TOO_SLOW),
        WsError::Capacity(CapacityError::MessageTooLong { .. }) => Received::Wrong(Close::TOO_LONG),
        WsError::Utf8(_) => Received::Wrong(Close::NOT_TEXT),
        WsError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Received::Over,
        WsError::Protocol(_) => Received::Wrong(Close::PROTOCOL),
        _ => Received::Over,
    }
}
