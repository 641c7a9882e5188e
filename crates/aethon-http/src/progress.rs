//! Where a connection stands, as the application knows it and its stream needs it.
//!
//! The stream below hyper bounds the wait for a request, and must not do so while one is being answered. The application
//! notes here when a request begins, whether its body was read, and when the last of the response was handed over.

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
    /// How many requests were answered.
    answered: AtomicU32,
    /// Whether a body is on its way that nobody has read to its end.
    is_unread: AtomicBool,
    /// Whether a request on it has shown a valid token.
    is_known: AtomicBool,
    /// When it was last used, on a scale of its own.
    touched: AtomicU64,
    /// Whether it is to be closed for others, and whom to tell of it.
    is_closed: AtomicBool,
    reader: AtomicWaker,
}

/// The scale on which uses are ordered.
static USES: AtomicU64 = AtomicU64::new(0);

/// A response that is on its way. While this lives the connection is busy with it.
#[derive(Debug)]
pub(crate) struct Sending(Arc<Progress>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::Relaxed);
        self.0.stage.store(WAITING, Ordering::Relaxed);
    }
}

impl Progress {
    /// It is being used.
    pub(crate) fn touch(&self) {
        self.touched.store(USES.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// When it was last used, compared with others.
    pub(crate) fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }

    /// A request on it has shown a valid token.
    pub(crate) fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Whether a request on it has shown a valid token.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Whether it could be closed: nothing is being answered on it, and it is not closing yet.
    pub(crate) fn is_idle(&self) -> bool {
        self.stage.load(Ordering::Relaxed) != BUSY && !self.is_closed()
    }

    /// Has it closed, to make room for others.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Whether it is to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Tells this reader when it is to be closed.
    pub(crate) fn tell(&self, reader: &Waker) {
        self.reader.register(reader);
    }

    /// A request has come.
    pub(crate) fn begin(&self) {
        self.touch();
        self.is_unread.store(false, Ordering::Relaxed);
        self.stage.store(BUSY, Ordering::Relaxed);
    }

    /// A response begins to be sent; its body holds what this returns.
    pub(crate) fn sending(self: &Arc<Self>) -> Sending {
        Sending(Arc::clone(self))
    }

    /// The connection has become a WebSocket.
    pub(crate) fn upgrade(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.stage.store(UPGRADED, Ordering::Relaxed);
    }

    /// The body of a request is on its way.
    pub(crate) fn expect_body(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    /// The body of a request was read to its end.
    pub(crate) fn body_is_read(&self) {
        self.is_unread.store(false, Ordering::Relaxed);
    }

    /// Whether a request's body was left unread, so that the connection cannot be used again.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Whether no request is being answered.
    pub(crate) fn is_waiting(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == WAITING
    }

    /// Whether it is a WebSocket now.
    pub(crate) fn is_upgraded(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == UPGRADED
    }

    /// How many requests were answered so far.
    pub(crate) fn answered(&self) -> u32 {
        self.answered.load(Ordering::Relaxed)
    }
}
