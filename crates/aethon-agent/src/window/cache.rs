//! The windows that are kept between turns, the least recently used ones dropped first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::ids::SessionId;

use super::view::Window;

/// Windows of sessions in which no turn runs just now; a running turn owns its window.
pub(crate) struct Windows {
    kept: Mutex<Kept>,
    most_sessions: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct Kept {
    windows: HashMap<SessionId, (u64, Window)>,
    uses: u64,
    bytes: usize,
}

impl Windows {
    pub(crate) fn new(most_sessions: usize, most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_sessions, most_bytes }
    }

    /// Takes the window of a session out, if it is there.
    pub(crate) fn take(&self, session: &SessionId) -> Option<Window> {
        self.lock().remove(session)
    }

    /// The page of changing things that the model of a session knows; `None` when the window is not here.
    pub(crate) fn context(&self, session: &SessionId) -> Option<Option<Arc<str>>> {
        self.lock().windows.get(session).map(|(_, window)| window.context().cloned())
    }

    /// Puts a window back.
    pub(crate) fn put(&self, session: &SessionId, window: Window) {
        let mut kept = self.lock();
        kept.remove(session);
        kept.uses += 1;
        kept.bytes += window.bytes();
        let use_number = kept.uses;
        kept.windows.insert(session.clone(), (use_number, window));
        while kept.windows.len() > self.most_sessions || kept.bytes > self.most_bytes {
            let oldest = kept.windows.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            kept.remove(&oldest);
        }
    }

    /// Drops the window of a session, because its transcript has changed.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, session: &SessionId) -> Option<Window> {
        let (_, window) = self.windows.remove(session)?;
        self.bytes -= window.bytes();
        Some(window)
    }
}
