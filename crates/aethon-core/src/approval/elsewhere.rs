//! Open requests of other instances of the same storage, and the way to answer them.
//!
//! The asker waits where its turn runs, and only there does an answer count. The others know its request for as long as it is
//! open, so that a person can answer at any of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;

use super::{Answer, AnswerError, ApprovalRequest};
use crate::ids::SessionId;
use crate::peers::PeerId;

/// How many requests are known at most.
const MAX_KNOWN: usize = 1024;

/// Takes an answer to the instance whose turn asks.
#[async_trait]
pub trait AnswerElsewhere: Send + Sync {
    /// Answers a request there, or wherever it is open, and waits until it is known whether the answer counts.
    async fn answer(&self, at: Option<PeerId>, id: &str, answer: Answer) -> Result<(), AnswerError>;

    /// Revokes a grant at all other instances. `false` if one of them did not say that it has.
    async fn take_back(&self, id: &str) -> bool;
}

/// The open requests of other instances. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct RequestsElsewhere(Arc<Known>);

#[derive(Default)]
struct Known {
    open: Mutex<BTreeMap<String, (PeerId, ApprovalRequest)>>,
    door: OnceLock<Arc<dyn AnswerElsewhere>>,
}

impl RequestsElsewhere {
    /// Sets how they are answered, once.
    pub fn answered_by(&self, door: Arc<dyn AnswerElsewhere>) {
        // A second one would be the same.
        let _ = self.0.door.set(door);
    }

    /// Notes a request of another instance.
    pub fn opened(&self, at: PeerId, request: ApprovalRequest) {
        let mut open = self.lock();
        if open.len() < MAX_KNOWN {
            open.insert(request.id.clone(), (at, request));
        }
    }

    /// Forgets a request that was settled, and returns it.
    pub fn settled(&self, id: &str) -> Option<ApprovalRequest> {
        self.lock().remove(id).map(|(_, request)| request)
    }

    /// Forgets the requests of an instance, and returns them.
    pub fn forget(&self, at: PeerId) -> Vec<ApprovalRequest> {
        let mut open = self.lock();
        let gone: Vec<_> =
            open.values().filter(|(peer, _)| *peer == at).map(|(_, request)| request.clone()).collect();
        open.retain(|_, (peer, _)| *peer != at);
        gone
    }

    /// Returns all of them.
    pub fn all(&self) -> Vec<ApprovalRequest> {
        self.lock().values().map(|(_, request)| request.clone()).collect()
    }

    pub(super) fn waiting_in(&self, session: &SessionId) -> usize {
        self.lock().values().filter(|(_, request)| request.session_id == *session).count()
    }

    /// Returns where a request is open, as far as is known.
    pub(super) fn place(&self, id: &str) -> Option<PeerId> {
        self.lock().get(id).map(|(at, _)| *at)
    }

    /// Returns the way to all other instances, if there can be some.
    pub(super) fn doors(&self) -> Option<Arc<dyn AnswerElsewhere>> {
        self.0.door.get().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (PeerId, ApprovalRequest)>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
