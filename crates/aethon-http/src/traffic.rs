//! Who is connected and what was answered, in numbers for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A TCP connection, those that have become sockets included.
    Connection,
    /// A socket of the chat.
    ChatSocket,
    /// A socket of the dashboard.
    DashboardSocket,
}

/// The numbers. They are shared by all connections and never locked.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// By kind.
    present: [AtomicU64; 3],
    /// By the first digit of the status, less one.
    answers: [AtomicU64; 5],
}

/// Something that is connected; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Present {
    traffic: Arc<Traffic>,
    kind: Kind,
}

impl Traffic {
    /// Counts something in.
    pub(crate) fn enter(self: &Arc<Self>, kind: Kind) -> Present {
        self.present[kind as usize].fetch_add(1, Ordering::Relaxed);
        Present { traffic: Arc::clone(self), kind }
    }

    /// How many of a kind are connected.
    pub(crate) fn present(&self, kind: Kind) -> u64 {
        self.present[kind as usize].load(Ordering::Relaxed)
    }

    /// Counts an answer of this status.
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).checked_sub(1);
        if let Some(answers) = class.and_then(|class| self.answers.get(class)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many answers there were of each class, `1xx` first.
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
    fn whoever_leaves_is_not_counted_any_more() {
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
