//! How much the one-shot sessions may have grown.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// Watches how large the one-shot sessions may have become since they were last added up.
pub(crate) struct Growth {
    limit: u64,
    /// Their bytes when they were last added up.
    known: AtomicU64,
    /// What all turns have written since then, which is at least what these sessions have grown by.
    since: AtomicU64,
    /// Held while they are added up.
    adding_up: Mutex<()>,
}

impl Growth {
    /// Watches for this many bytes. How many there are already is not known yet.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, known: AtomicU64::new(limit), since: AtomicU64::new(0), adding_up: Mutex::default() }
    }

    /// Returns the limit.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Notes that turns wrote this much.
    pub(crate) fn add(&self, bytes: usize) {
        self.since.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns a guard if they are to be added up: they may be too many by now, and the sum would tell something new.
    pub(crate) fn due(&self) -> Option<MutexGuard<'_, ()>> {
        let since = self.since.load(Ordering::Relaxed);
        let may_be = self.known.load(Ordering::Relaxed).saturating_add(since);
        (may_be > self.limit && since >= self.limit / 8).then(|| self.adding_up.try_lock().ok()).flatten()
    }

    /// Records their sum, which may include writes made meanwhile.
    pub(crate) fn know(&self, bytes: u64) {
        self.since.store(0, Ordering::Relaxed);
        self.known.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[test]
fn sessions_are_added_up_only_when_they_may_be_too_large() {
    let growth = Growth::new(800);
    assert!(growth.due().is_none(), "nothing was written");
    growth.add(100);
    assert!(growth.due().is_some(), "the size at the start is unknown");
    growth.know(600);
    growth.add(200);
    assert!(growth.due().is_none());
    growth.add(1);
    assert!(growth.due().is_some());
    growth.know(800);
    growth.add(99);
    assert!(growth.due().is_none(), "too little to be worth it");
}
