//! The progress of a connection, shared by the application and the stream below hyper.
//!
//! The stream limits the wait for a request, and must not do so while one is being answered. The application records
//! here when a request begins, whether its body was read, and when the response is complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;

use futures_util::task::AtomicWaker;

const WAITING: u8 = 0;
const BUSY: u8 = 1;
const UPGRADED: u8 = 2;

/// The stage of one connection.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    stage: AtomicU8,
    /// The number of answered requests.
    answered: AtomicU32,
    /// Whether a request body is arriving that has not been read to the end.
    is_unread: AtomicBool,
    /// Whether a request on it has shown a valid token.
    is_known: AtomicBool,
    /// When it was last used, as a logical time.
    touched: AtomicU64,
    /// Whether it is to be closed to make room, and the task to wake for that.
    is_closed: AtomicBool,
    reader: AtomicWaker,
}

/// The logical clock that orders uses.
static USES: AtomicU64 = AtomicU64::new(0);

/// A response being sent. The connection stays busy while this exists.
#[derive(Debug)]
pub(crate) struct Sending(Arc<Progress>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
        self.0.stage.store(WAITING, Ordering::Relaxed);
    }
}

impl Progress {
    /// Marks the connection as just used.
    pub(crate) fn touch(&self) {
        self.touched.store(USES.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the logical time of the last use.
    pub(crate) fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    /// Records that a request on it has shown a valid token.
    pub(crate) fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Returns whether a request on it has shown a valid token.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Returns whether it can be closed: no request is in progress, and it is not closing already.
    pub(crate) fn is_idle(&self) -> bool {
        self.stage.load(Ordering::Relaxed) != BUSY && !self.is_closed()
    }

    /// Closes it to make room for others.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Returns whether it is to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Registers the waker to notify when it is to be closed.
    pub(crate) fn tell(&self, reader: &Waker) {
        self.reader.register(reader);
    }

    /// Records the start of a request.
    pub(crate) fn begin(&self) {
        self.touch();
        self.is_unread.store(false, Ordering::Relaxed);
        self.stage.store(BUSY, Ordering::Relaxed);
    }

    /// Records the start of a response, whose body must hold the returned value.
    pub(crate) fn sending(self: &Arc<Self>) -> Sending {
        Sending(Arc::clone(self))
    }

    /// Records that the connection has become a WebSocket.
    pub(crate) fn upgrade(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.stage.store(UPGRADED, Ordering::Relaxed);
    }

    /// Records that a request body is arriving.
    pub(crate) fn expect_body(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    /// Records that the request body was read to the end.
    pub(crate) fn body_is_read(&self) {
        self.is_unread.store(false, Ordering::Relaxed);
    }

    /// Returns whether a request body was left unread, so that the connection cannot be reused.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Returns whether no request is in progress.
    pub(crate) fn is_waiting(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == WAITING
    }

    /// Returns whether it has become a WebSocket.
    pub(crate) fn is_upgraded(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == UPGRADED
    }

    /// Returns the number of answered requests so far.
    pub(crate) fn answered(&self) -> u32 {
        self.answered.load(Ordering::Relaxed)
    }
}
