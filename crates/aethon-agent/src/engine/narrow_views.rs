//! The summaries that were made for fallbacks with a smaller window.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::ids::SessionId;
use aethon_core::message::Message;

use crate::window::{ContextWindow, Prefix};

/// The summaries made for fallbacks, by session.
pub(super) struct NarrowViews {
    kept: Mutex<HashMap<SessionId, NarrowView>>,
    most: usize,
}

/// A summary that replaces the beginning of a session's window for a fallback.
#[derive(Debug, Clone)]
pub(super) struct NarrowView {
    /// The beginning that it replaces.
    pub(super) prefix: Prefix,
    pub(super) summary: Arc<Message>,
    /// The request size, in tokens, that it was made for.
    pub(super) tokens: u64,
}

impl NarrowViews {
    /// Holds the summaries of at most this many sessions.
    pub(super) fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most }
    }

    /// Returns the summary for requests of this size, if the window still begins with what it covers.
    pub(super) fn get(&self, session: &SessionId, window: &ContextWindow, tokens: u64) -> Option<NarrowView> {
        let mut kept = self.lock();
        let view = kept.get(session)?;
        if window.prefix(view.prefix.len) != Some(view.prefix) {
            kept.remove(session);
            return None;
        }
        (view.tokens == tokens).then(|| view.clone())
    }

    pub(super) fn put(&self, session: &SessionId, view: NarrowView) {
        let mut kept = self.lock();
        if kept.len() >= self.most && !kept.contains_key(session) {
            // They are small and cost one summary; any of them may go.
            let any = kept.keys().next().cloned();
            any.and_then(|any| kept.remove(&any));
        }
        kept.insert(session.clone(), view);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, NarrowView>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
