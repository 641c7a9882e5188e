//! The health of a channel: what it reports, and when something last came in or went out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::channel::{ChannelState, ChannelStatus};
use jiff::Timestamp;

/// The health of a channel. Cheap to clone; clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelHealthState(Arc<Mutex<ChannelStatus>>, Arc<Mutex<Option<String>>>);

impl ChannelHealthState {
    /// Returns the current status.
    pub(crate) fn now(&self) -> ChannelStatus {
        let mut status = self.lock().clone();
        if status.state == ChannelState::Running && status.detail.is_empty() {
            let remark = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            status.detail = remark.clone().unwrap_or_default();
        }
        status
    }

    /// Records that it is signed in as this account and receiving.
    pub(crate) fn runs(&self, account: Option<&str>) {
        let mut status = self.lock();
        status.state = ChannelState::Running;
        status.detail.clear();
        if let Some(account) = account {
            account.clone_into(&mut status.account);
        }
    }

    /// Records something that does not work although the channel runs. It is shown as long as nothing worse is.
    pub(super) fn remark(&self, remark: &str) {
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(remark.to_owned());
    }

    /// Records that it is connecting.
    pub(crate) fn connects(&self) {
        let mut status = self.lock();
        status.state = ChannelState::Connecting;
        status.detail.clear();
    }

    /// Records a failure. Returns whether that is new.
    pub(crate) fn fails(&self, detail: &str) -> bool {
        let mut status = self.lock();
        let is_news = status.state != ChannelState::Degraded || status.detail != detail;
        status.state = ChannelState::Degraded;
        detail.clone_into(&mut status.detail);
        is_news
    }

    pub(super) fn received(&self, at: Timestamp) {
        self.lock().last_inbound = Some(at);
    }

    pub(super) fn sent(&self, at: Timestamp) {
        self.lock().last_outbound = Some(at);
    }

    fn lock(&self) -> MutexGuard<'_, ChannelStatus> {
        // Every statement leaves the status consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
