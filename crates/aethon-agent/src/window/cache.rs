//! The windows that are kept between turns, the least recently used ones dropped first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{AgentName, MessageId, SessionId};

use super::view::ContextWindow;

/// The windows of sessions in which no turn runs just now; a running turn owns its window.
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
    /// When it was put back, counted in uses of the cache.
    used: u64,
    /// Whose it is: its size and its counts are those of this agent's models.
    agent: AgentName,
    /// The newest message that it has seen.
    newest: Option<MessageId>,
    window: ContextWindow,
}

impl ContextWindows {
    pub(crate) fn new(most_sessions: usize, most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_sessions, most_bytes }
    }

    /// Takes the window that an agent has of a session out, if it is there and has seen everything up to `newest`. Another
    /// agent's is dropped: it will be behind; and so is one from before another program wrote in the session.
    pub(crate) fn take(
        &self,
        session: &SessionId,
        agent: &AgentName,
        newest: Option<MessageId>,
    ) -> Option<ContextWindow> {
        let entry = self.lock().remove(session)?;
        (entry.agent == *agent && entry.newest == newest).then_some(entry.window)
    }

    /// The page of changing things that the model of a session knows; `None` when the window is not here.
    pub(crate) fn context(&self, session: &SessionId) -> Option<Option<Arc<str>>> {
        self.lock().windows.get(session).map(|entry| entry.window.context().cloned())
    }

    /// Puts a window back that has seen everything up to `newest`.
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

    /// Drops the window of a session, because its transcript has changed.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Drops all windows, because the models that they were measured by are others now.
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
