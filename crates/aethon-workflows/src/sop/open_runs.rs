//! The runs in progress by session, in memory: most messages have nothing to do with a run and need no query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::ids::SessionId;

/// The run that is open in each session. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub(super) struct OpenRuns(Arc<Mutex<HashMap<SessionId, OpenRun>>>);

/// A run in progress.
#[derive(Clone)]
pub(super) struct OpenRun {
    pub(super) run_id: String,
    /// Whether the session's next message continues it.
    pub(super) is_waiting: bool,
}

impl OpenRuns {
    /// Makes this the open run of a session.
    pub(super) fn set(&self, session: &SessionId, run: OpenRun) {
        self.lock().insert(session.clone(), run);
    }

    /// Notes that a turn is working on a run.
    pub(super) fn set_running(&self, session: &SessionId, run_id: &str) {
        self.set(session, OpenRun { run_id: run_id.to_owned(), is_waiting: false });
    }

    /// Notes that a run is waiting for the person.
    pub(super) fn set_waiting(&self, session: &SessionId, run_id: &str) {
        self.set(session, OpenRun { run_id: run_id.to_owned(), is_waiting: true });
    }

    /// Removes a run, if it is the one that is open in the session.
    pub(super) fn remove(&self, session: &SessionId, run_id: &str) {
        let mut runs = self.lock();
        if runs.get(session).is_some_and(|run| run.run_id == run_id) {
            runs.remove(session);
        }
    }

    /// Returns the open run of a session.
    pub(super) fn get(&self, session: &SessionId) -> Option<OpenRun> {
        self.lock().get(session).cloned()
    }

    /// Returns whether a run is open in a session.
    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.lock().contains_key(session)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, OpenRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
