//! How a channel does: what it says of itself, and when something last came in or went out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::channel::{ChannelState, ChannelStatus};
use jiff::Timestamp;

/// How a channel does. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing(Arc<Mutex<ChannelStatus>>);

impl Standing {
    /// How it is now.
    pub(crate) fn now(&self) -> ChannelStatus {
        self.lock().clone()
    }

    /// It is signed in as this account, and receives.
    pub(crate) fn runs(&self, account: Option<&str>) {
        let mut status = self.lock();
        status.state = ChannelState::Running;
        status.detail.clear();
        if let Some(account) = account {
            account.clone_into(&mut status.account);
        }
    }

    /// It is on its way there.
    pub(crate) fn connects(&self) {
        let mut status = self.lock();
        status.state = ChannelState::Connecting;
        status.detail.clear();
    }

    /// It does not work. `true` when that is news.
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
        // It is whole after every statement, so a panic elsewhere does not make it unusable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
