//! Remembers the last conversation with each specialist, so that it can be continued without its id.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{AgentName, SessionId};

/// How many are remembered; the others need their id.
const MAX_COUNT: usize = 1024;

/// The last conversations, keyed by who asked whom.
#[derive(Default)]
pub(super) struct Conversations(Mutex<Vec<Last>>);

struct Last {
    caller: SessionId,
    agent: AgentName,
    session: SessionId,
}

impl Conversations {
    pub(super) fn note(&self, caller: &SessionId, agent: &AgentName, session: &SessionId) {
        let mut all = self.lock();
        all.retain(|last| last.caller != *caller || last.agent != *agent);
        if all.len() >= MAX_COUNT {
            all.remove(0);
        }
        all.push(Last { caller: caller.clone(), agent: agent.clone(), session: session.clone() });
    }

    pub(super) fn last(&self, caller: &SessionId, agent: &AgentName) -> Option<SessionId> {
        let all = self.lock();
        let found = all.iter().find(|last| last.caller == *caller && last.agent == *agent);
        found.map(|last| last.session.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Last>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
