//! Detects changes of the lists of tools and prompts, and notifies listeners.
//!
//! Tools come and go while the program runs: a configured server connects, a source changes its list. The toolbox
//! rebuilds its list exactly when that happens, so it suffices to compare the addresses of the lists.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::Toolbox;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::prompts::Prompts;

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Polling interval for prompts, which may be files.
const PROMPTS_INTERVAL: Duration = Duration::from_secs(2);

/// How often each list has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) tools: u64,
    pub(super) prompts: u64,
}

/// Counts the changes of the lists.
pub(super) type Changes = watch::Receiver<Counts>;

/// Watches the prompts until the last listener is gone.
pub(super) async fn watch_prompts(prompts: Option<Arc<dyn Prompts>>, changes: watch::Sender<Counts>) {
    let Some(prompts) = prompts else { return changes.closed().await };
    let mut known = prompts.list().await;
    let mut look = interval(PROMPTS_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = changes.closed() => return,
            _ = look.tick() => {}
        }
        let now = prompts.list().await;
        if known != now {
            known = now;
            changes.send_modify(|counts| counts.prompts += 1);
        }
    }
}

/// Watches the tools until the last listener is gone.
pub(super) async fn watch(toolbox: Arc<dyn Toolbox>, changes: watch::Sender<Counts>) {
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
            changes.send_modify(|counts| counts.tools += 1);
        }
    }
}
