//! Pending approvals: open requests, and the answers to them.
//!
//! An answer counts once. An answer with changed arguments is checked by the asker before it counts, because an edit
//! must not bypass a rule. During the check nobody else can answer, and a rejected edit leaves the request open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::elsewhere::RequestsElsewhere;
use super::{Answer, AnswerError, ApprovalRequest, Decision, Grants};
use crate::error::{Error, Result as CoreResult};
use crate::ids::SessionId;
use crate::share::{Held, Share, Shares};
use crate::turn::Trust;

/// Maximum number of open requests. More than a person looks through, and fewer than turns run at once.
const MAX_OPEN: u64 = 256;

/// The open requests of one assistant. Cheap to clone; clones share the requests.
#[derive(Clone)]
pub struct PendingApprovals {
    open: Arc<Mutex<BTreeMap<String, Open>>>,
    places: Shares,
    grants: Grants,
    elsewhere: RequestsElsewhere,
}

impl Default for PendingApprovals {
    fn default() -> Self {
        Self {
            open: Arc::default(),
            places: Shares::of(Share::of(MAX_OPEN)),
            grants: Grants::default(),
            elsewhere: RequestsElsewhere::default(),
        }
    }
}

struct Open {
    request: ApprovalRequest,
    /// One answer at a time: while one is on its way, the request is not listed.
    answers: mpsc::Sender<ProposedAnswer>,
}

/// An answer on its way to the asker.
pub struct ProposedAnswer {
    /// The answer.
    pub answer: Answer,
    /// Receives whether the edit is accepted; the error is a sentence for the person.
    pub verdict: oneshot::Sender<Result<(), String>>,
}

impl PendingApprovals {
    /// Opens a request of a turn of this trust. Dropping what this returns withdraws it. `None` if too many are open: those
    /// of strangers leave the owner's share free, so that the owner's own questions are asked and found.
    pub fn open_for(&self, trust: Trust, request: ApprovalRequest) -> Option<PendingApproval> {
        let place = self.places.take(trust, 1)?;
        Some(self.open_at(place, request))
    }

    /// Opens a request, however many there are. Dropping what this returns withdraws it.
    pub fn open(&self, request: ApprovalRequest) -> PendingApproval {
        self.open_at(self.places.take_anyway(Trust::Owner, 1), request)
    }

    fn open_at(&self, place: Held, request: ApprovalRequest) -> PendingApproval {
        // Only one answer is ever on its way, because the request is not listed meanwhile.
        let (answers, asked) = mpsc::channel(1);
        let id = request.id.clone();
        self.lock().insert(id.clone(), Open { request, answers });
        PendingApproval { all: self.clone(), id, asked, _place: place }
    }

    /// Answers a request with its arguments unchanged. `false` if there is no such request, or no longer.
    pub fn decide(&self, id: &str, answer: impl Into<Answer>) -> bool {
        let answer = Answer { input: None, ..answer.into() };
        let open = self.lock().remove(id);
        open.is_some_and(|open| {
            let verdict = oneshot::channel().0;
            open.answers.try_send(ProposedAnswer { answer, verdict }).is_ok()
        })
    }

    /// Answers a request of this instance or another, with changed arguments if the answer has any. The answer counts if this
    /// returns `Ok`.
    pub async fn answer(&self, id: &str, answer: Answer) -> Result<(), AnswerError> {
        let is_here = self.lock().contains_key(id);
        match self.elsewhere.doors().filter(|_| !is_here) {
            // A person may have seen a request before this instance was told of it: the frames that show it take another way.
            Some(doors) => doors.answer(self.elsewhere.place(id), id, answer).await,
            None => self.answer_here(id, answer).await,
        }
    }

    /// Answers a request of this instance.
    pub async fn answer_here(&self, id: &str, answer: Answer) -> Result<(), AnswerError> {
        if answer.input.is_none() || answer.decision == Decision::Deny {
            return if self.decide(id, answer) { Ok(()) } else { Err(AnswerError::Unknown) };
        }
        let open = self.lock().remove(id).ok_or(AnswerError::Unknown)?;
        let (verdict, judged) = oneshot::channel();
        if open.answers.try_send(ProposedAnswer { answer, verdict }).is_err() {
            return Err(AnswerError::Unknown);
        }
        // The asker bounds the time of its check, and drops its end when it goes away.
        match judged.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => {
                self.list_again(id, open);
                Err(AnswerError::Refused(reason))
            }
            Err(_) => Err(AnswerError::Unknown),
        }
    }

    /// Returns what was allowed for the rest of a conversation.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Revokes what was allowed for the rest of a conversation, at every instance. `false` if there is nothing of this id.
    ///
    /// # Errors
    ///
    /// Another instance has not confirmed it. Then it is still listed, and can be revoked again.
    pub async fn take_back(&self, id: &str) -> CoreResult<bool> {
        if !self.grants.has(id) {
            return Ok(false);
        }
        if let Some(others) = self.elsewhere.doors()
            && !others.take_back(id).await
        {
            return Err(Error::unavailable(
                "another instance has not confirmed that this is taken back; try again in a moment",
            ));
        }
        Ok(self.grants.take_back(id))
    }

    /// Returns the open requests of other instances.
    pub fn elsewhere(&self) -> &RequestsElsewhere {
        &self.elsewhere
    }

    /// Returns the open requests of this instance.
    pub fn pending_here(&self) -> Vec<ApprovalRequest> {
        self.lock().values().map(|open| open.request.clone()).collect()
    }

    /// Returns the open requests of all instances, oldest first.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        let mut requests = self.pending_here();
        requests.extend(self.elsewhere.all());
        requests.sort_by(|a, b| a.created_at.cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
        requests
    }

    /// Returns how many open requests this conversation has.
    pub fn waiting_in(&self, session: &SessionId) -> usize {
        let here = self.lock().values().filter(|open| open.request.session_id == *session).count();
        here + self.elsewhere.waiting_in(session)
    }

    /// Lists a request again, unless the asker withdrew it meanwhile: a [`PendingApproval`] closes its end before it
    /// removes the request.
    fn list_again(&self, id: &str, open: Open) {
        let mut listed = self.lock();
        if !open.answers.is_closed() {
            listed.insert(id.to_owned(), open);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        // The map is consistent after every statement, so a panic elsewhere does not make it unusable.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The asker's half of an open request.
pub struct PendingApproval {
    all: PendingApprovals,
    id: String,
    asked: mpsc::Receiver<ProposedAnswer>,
    _place: Held,
}

impl PendingApproval {
    /// Waits for an answer. After a rejected edit another answer may follow, or none.
    pub async fn answer(&mut self) -> ProposedAnswer {
        match self.asked.recv().await {
            Some(asked) => asked,
            // The request is not listed while an edit is checked; its sender is elsewhere then.
            None => std::future::pending().await,
        }
    }
}

impl Drop for PendingApproval {
    fn drop(&mut self) {
        self.asked.close();
        self.all.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::approval::AnswerElsewhere;
    use crate::ids::{SessionId, TurnId};
    use crate::peers::PeerId;

    fn request(id: &str) -> ApprovalRequest {
        ApprovalRequest {
            id: id.into(),
            tool: "shell".into(),
            input: json!({"command": "ls"}),
            summary: "run: ls".into(),
            preview: None,
            reason: String::new(),
            session_scope: String::new(),
            session_id: SessionId::of("webchat", "a").unwrap(),
            turn: TurnId::existing("t"),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn edit(command: &str) -> Answer {
        Answer::new(Decision::Approve).with_input(Some(json!({"command": command})))
    }

    #[tokio::test]
    async fn rejected_edit_leaves_the_request_open() {
        let approvals = PendingApprovals::default();
        let mut pending = approvals.open(request("1"));
        let asker = async {
            let refused = pending.answer().await;
            assert!(
                !approvals.decide("1", Decision::Approve),
                "nobody else answers while an edit is looked at"
            );
            refused.verdict.send(Err("it is blocked".into())).unwrap();
            let taken = pending.answer().await;
            taken.verdict.send(Ok(())).unwrap();
            taken.answer.input
        };
        let person = async {
            let refused = approvals.answer("1", edit("sudo ls")).await;
            assert_eq!(refused, Err(AnswerError::Refused("it is blocked".into())));
            assert_eq!(approvals.pending().len(), 1, "it is still open");
            approvals.answer("1", edit("ls -l")).await
        };
        let (input, answered) = tokio::join!(asker, person);
        assert_eq!((input, answered), (Some(json!({"command": "ls -l"})), Ok(())));
        assert_eq!(approvals.answer("1", edit("ls")).await, Err(AnswerError::Unknown), "once");
    }

    #[test]
    fn requests_of_strangers_leave_a_quarter_to_the_owner() {
        let approvals = PendingApprovals::default();
        let ask =
            |trust: Trust, number: usize| approvals.open_for(trust, request(&format!("{trust:?} {number}")));
        let theirs: Vec<_> = (0..).map_while(|number| ask(Trust::Guest, number)).collect();
        assert_eq!(theirs.len(), 192);
        assert!(ask(Trust::Outside, 0).is_none(), "all strangers share");
        let own: Vec<_> = (0..).map_while(|number| ask(Trust::Owner, number)).collect();
        assert_eq!((own.len(), approvals.pending().len()), (64, 256));
        drop(theirs);
        assert!(ask(Trust::Guest, 0).is_some());
    }

    #[tokio::test]
    async fn a_request_that_was_taken_back_does_not_come_back() {
        let approvals = PendingApprovals::default();
        let mut pending = approvals.open(request("1"));
        let asker = async {
            let asked = pending.answer().await;
            drop(pending);
            // The verdict reaches the person after the request was withdrawn.
            let _ = asked.verdict.send(Err("it is blocked".into()));
        };
        let (_, answered) = tokio::join!(asker, approvals.answer("1", edit("ls")));
        assert!(answered.is_err());
        assert!(approvals.pending().is_empty());
    }

    /// Remembers where requests are said to be.
    #[derive(Default)]
    struct Doors(Mutex<Vec<Option<PeerId>>>);

    #[async_trait::async_trait]
    impl AnswerElsewhere for Doors {
        async fn answer(&self, at: Option<PeerId>, id: &str, _answer: Answer) -> Result<(), AnswerError> {
            self.0.lock().unwrap().push(at);
            if id == "nowhere" { Err(AnswerError::Unknown) } else { Ok(()) }
        }

        async fn take_back(&self, _id: &str) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn answer_reaches_another_instance_before_its_request_is_known_here() {
        let (approvals, doors) = (PendingApprovals::default(), Arc::<Doors>::default());
        approvals.elsewhere().answered_by(doors.clone());
        let answer = || Answer::new(Decision::Approve);
        assert_eq!(approvals.answer("1", answer()).await, Ok(()));
        approvals.elsewhere().opened(PeerId(2), request("1"));
        assert_eq!(approvals.answer("1", answer()).await, Ok(()));
        assert_eq!(approvals.answer("nowhere", answer()).await, Err(AnswerError::Unknown));
        let _pending = approvals.open(request("2"));
        assert_eq!(approvals.answer("2", answer()).await, Ok(()));
        assert_eq!(*doors.0.lock().unwrap(), [None, Some(PeerId(2)), None], "its own is answered here");
    }

    #[tokio::test]
    async fn a_plain_answer_has_no_arguments_of_its_own() {
        let approvals = PendingApprovals::default();
        let mut pending = approvals.open(request("1"));
        assert!(approvals.decide("1", edit("rm -rf /")), "what is not looked at is dropped");
        assert_eq!(pending.answer().await.answer.input, None);
        drop(pending);
        let pending = approvals.open(request("2"));
        drop(pending);
        assert!(!approvals.decide("2", Decision::Approve));
    }
}
