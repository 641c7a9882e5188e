//! An LRU cache of context windows, kept between turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{AgentName, MessageId, SessionId};

use super::view::ContextWindow;

/// The windows of sessions in which no turn is running; a running turn owns its window.
pub(crate) struct ContextWindows {
    kept: Mutex<Kept>,
    most_sessions: usize,
    most_bytes: usize,
}

#[derive(Default)]
struct Kept {
    windows: HashMap<SessionId, Entry>,
    uses: u64,
    bytes: usize,
}

struct Entry {
    /// When it was last put back, counted in uses of the cache.
    used: u64,
    /// The agent that it belongs to; its size and token counts are those of this agent's models.
    agent: AgentName,
    /// The newest message that it includes.
    newest: Option<MessageId>,
    window: ContextWindow,
}

impl ContextWindows {
    pub(crate) fn new(most_sessions: usize, most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_sessions, most_bytes }
    }

    /// Takes an agent's window of a session out of the cache, if it is there and includes everything up to `newest`. A
    /// window of another agent is dropped, because it is about to fall behind; so is one that another program has
    /// outdated by writing to the session.
    pub(crate) fn take(
        &self,
        session: &SessionId,
        agent: &AgentName,
        newest: Option<MessageId>,
    ) -> Option<ContextWindow> {
        let entry = self.lock().remove(session)?;
        (entry.agent == *agent && entry.newest == newest).then_some(entry.window)
    }

    /// Returns the context page that the session's model has last seen; `None` if the window is not cached.
    pub(crate) fn context(&self, session: &SessionId) -> Option<Option<Arc<str>>> {
        self.lock().windows.get(session).map(|entry| entry.window.context().cloned())
    }

    /// Puts back a window that includes everything up to `newest`.
    pub(crate) fn put(
        &self,
        session: &SessionId,
        (agent, newest): (&AgentName, Option<MessageId>),
        window: ContextWindow,
    ) {
        let mut kept = self.lock();
        kept.remove(session);
        kept.uses += 1;
        kept.bytes += window.bytes();
        let entry = Entry { used: kept.uses, agent: agent.clone(), newest, window };
        kept.windows.insert(session.clone(), entry);
        while kept.windows.len() > self.most_sessions || kept.bytes > self.most_bytes {
            let oldest = kept.windows.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            kept.remove(&oldest);
        }
    }

    /// Drops a session's window, because its transcript has changed.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Drops all windows, because the models whose tokens they counted have been replaced.
    pub(crate) fn forget_all(&self) {
        let mut kept = self.lock();
        kept.windows.clear();
        kept.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, session: &SessionId) -> Option<Entry> {
        let entry = self.windows.remove(session)?;
        self.bytes -= entry.window.bytes();
        Some(entry)
    }
}
