//! Surfaces that collect what they are shown.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::approval::{Decision, PendingApprovals};
use crate::ids::TurnId;
use crate::surface::{Surface, TurnEvent};

/// A surface that collects every event, and is unattended or gives every request for approval the same answer.
#[derive(Default)]
pub struct CollectingSurface {
    log: EventLog,
    answer: Option<(PendingApprovals, Decision)>,
}

impl CollectingSurface {
    /// Answers every request for approval with this decision.
    pub fn answering(approvals: &PendingApprovals, decision: Decision) -> Self {
        Self { log: EventLog::default(), answer: Some((approvals.clone(), decision)) }
    }

    /// Returns what was shown so far.
    pub fn events(&self) -> Vec<(TurnId, TurnEvent)> {
        self.log.all()
    }

    /// Waits until a matching event was shown.
    pub async fn saw(&self, fits: impl Fn(&TurnEvent) -> bool) {
        self.log.saw(fits).await;
    }
}

impl Surface for CollectingSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        if let (Some((approvals, decision)), TurnEvent::Approval(request)) = (&self.answer, &event) {
            approvals.decide(&request.id, *decision);
        }
        self.log.push(turn, event);
    }

    fn is_attended(&self) -> bool {
        self.answer.is_some()
    }
}

/// An attended surface that collects every event; the test answers through `PendingApprovals`.
#[derive(Debug, Default)]
pub struct DeskSurface {
    log: EventLog,
}

impl DeskSurface {
    /// Returns what was shown so far.
    pub fn events(&self) -> Vec<(TurnId, TurnEvent)> {
        self.log.all()
    }

    /// Waits until a matching event was shown.
    pub async fn saw(&self, fits: impl Fn(&TurnEvent) -> bool) {
        self.log.saw(fits).await;
    }
}

impl Surface for DeskSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        self.log.push(turn, event);
    }

    fn is_attended(&self) -> bool {
        true
    }
}

#[derive(Debug, Default)]
struct EventLog {
    events: Mutex<Vec<(TurnId, TurnEvent)>>,
    more: Notify,
}

impl EventLog {
    fn push(&self, turn: &TurnId, event: TurnEvent) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push((turn.clone(), event));
        self.more.notify_waiters();
    }

    fn all(&self) -> Vec<(TurnId, TurnEvent)> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn saw(&self, fits: impl Fn(&TurnEvent) -> bool) {
        loop {
            let more = self.more.notified();
            if self.all().iter().any(|(_, event)| fits(event)) {
                return;
            }
            more.await;
        }
    }
}
