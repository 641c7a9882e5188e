//! Connection and response counts for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The kinds of connections that are counted while they are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A TCP connection, including those that became sockets.
    Connection,
    /// A chat socket.
    ChatSocket,
    /// A dashboard socket.
    DashboardSocket,
}

/// The counters, shared by all connections without locking.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Open connections by kind.
    present: [AtomicU64; 3],
    /// Responses by the first digit of the status, minus one.
    answers: [AtomicU64; 5],
}

/// A counted connection; dropping it ends the count.
#[derive(Debug)]
pub(crate) struct Present {
    traffic: Arc<Traffic>,
    kind: Kind,
}

impl Traffic {
    /// Counts a new connection.
    pub(crate) fn enter(self: &Arc<Self>, kind: Kind) -> Present {
        self.present[kind as usize].fetch_add(1, Ordering::Relaxed);
        Present { traffic: Arc::clone(self), kind }
    }

    /// Returns how many of a kind are connected.
    pub(crate) fn present(&self, kind: Kind) -> u64 {
        self.present[kind as usize].load(Ordering::Relaxed)
    }

    /// Counts a response with this status.
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).checked_sub(1);
        if let Some(answers) = class.and_then(|class| self.answers.get(class)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of responses in each class, `1xx` first.
    pub(crate) fn answers(&self) -> [u64; 5] {
        self.answers.each_ref().map(|answers| answers.load(Ordering::Relaxed))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.traffic.present[self.kind as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_sockets_are_not_counted_any_more() {
        let traffic = Arc::new(Traffic::default());
        let first = traffic.enter(Kind::ChatSocket);
        let second = traffic.enter(Kind::ChatSocket);
        drop(first);
        assert_eq!((traffic.present(Kind::ChatSocket), traffic.present(Kind::Connection)), (1, 0));
        drop(second);
        for status in [101, 200, 204, 404, 503, 999, 0] {
            traffic.answered(status);
        }
        assert_eq!(traffic.answers(), [1, 2, 0, 1, 1]);
    }
}
