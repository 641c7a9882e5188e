//! Detects changes of the tool list and notifies listeners.
//!
//! Tools come and go while the program runs: a configured server connects, a source changes its list. The toolbox
//! rebuilds its list exactly when that happens, so it suffices to compare the addresses of the lists.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::Toolbox;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Counts the changes of the tool list.
pub(super) type Changes = watch::Receiver<u64>;

/// Watches the tools until the last listener is gone.
pub(super) async fn watch(toolbox: Arc<dyn Toolbox>, changes: watch::Sender<u64>) {
    let mut known = toolbox.specs();
    let mut look = interval(POLL_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = changes.closed() => return,
            _ = look.tick() => {}
        }
        let now = toolbox.specs();
        if !Arc::ptr_eq(&known, &now) {
            known = now;
            changes.send_modify(|count| *count += 1);
        }
    }
}
