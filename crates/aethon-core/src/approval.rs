//! Asking a person before something happens.
//!
//! A request is bound to the exact arguments that the person sees, is answered once, and expires. The desk keeps the
//! open ones, so that any door (the chat, the dashboard, the API) can answer; who asks waits on the desk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::ids::{SessionId, TurnId};

/// What is to be decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApprovalRequest {
    /// Its own id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The exact arguments that will be used.
    pub input: Value,
    /// One line that says what would happen.
    pub summary: String,
    /// The session that asks.
    pub session_id: SessionId,
    /// The turn that asks.
    pub turn: TurnId,
    /// When it was asked.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it counts as denied.
    #[serde(serialize_with = "crate::time::serialize")]
    pub expires_at: Timestamp,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Do it, once, with these arguments.
    Approve,
    /// Do not.
    Deny,
}

/// How a request was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The outcome.
    pub decision: Decision,
    /// Who or what settled it.
    pub reason: ResolutionReason,
}

/// Who or what settled a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionReason {
    /// A person.
    User,
    /// Time ran out.
    Timeout,
    /// The turn was stopped first.
    Stopped,
}

/// The open requests of one assistant. Cheap to clone; clones share the desk.
#[derive(Clone, Default)]
pub struct PendingApprovals {
    open: Arc<Mutex<BTreeMap<String, Open>>>,
}

struct Open {
    request: ApprovalRequest,
    answer: oneshot::Sender<Decision>,
}

impl PendingApprovals {
    /// Lays a request on the desk. The receiver yields the answer, once; dropping the [`Ticket`] takes the request back.
    pub fn open(&self, request: ApprovalRequest) -> Ticket {
        let (answer, answered) = oneshot::channel();
        let id = request.id.clone();
        self.lock().insert(id.clone(), Open { request, answer });
        Ticket { desk: self.clone(), id, answered }
    }

    /// Answers a request. `false` when there is no such request (any more).
    pub fn decide(&self, id: &str, decision: Decision) -> bool {
        let open = self.lock().remove(id);
        open.is_some_and(|open| open.answer.send(decision).is_ok())
    }

    /// The open requests, oldest first.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        let mut requests: Vec<_> = self.lock().values().map(|open| open.request.clone()).collect();
        requests.sort_by(|a, b| a.created_at.cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
        requests
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Open>> {
        // The map is whole after every statement, so a panic elsewhere does not make it unusable.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The asker's half of an open request.
pub struct Ticket {
    desk: PendingApprovals,
    id: String,
    answered: oneshot::Receiver<Decision>,
}

impl Ticket {
    /// Waits until somebody answers at the desk.
    pub async fn answer(&mut self) -> Decision {
        (&mut self.answered).await.unwrap_or(Decision::Deny)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.desk.lock().remove(&self.id);
    }
}
