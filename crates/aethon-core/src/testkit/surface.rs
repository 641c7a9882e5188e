//! Surfaces that collect what they are shown.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::approval::{ApprovalRequest, Decision};
use crate::ids::TurnId;
use crate::surface::{Surface, TurnEvent};

/// A surface that collects every event and gives every question the same answer.
#[derive(Debug, Default)]
pub struct CollectingSurface {
    log: EventLog,
    answer: Option<Decision>,
}

impl CollectingSurface {
    /// Answers every question with this; `None` means that nobody can answer.
    pub fn answering(answer: Option<Decision>) -> Self {
        Self { log: EventLog::default(), answer }
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

#[async_trait]
impl Surface for CollectingSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        self.log.push(turn, event);
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        self.answer
    }
}

/// A surface that collects every event and whose questions are answered only through `PendingApprovals`.
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

#[async_trait]
impl Surface for DeskSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        self.log.push(turn, event);
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        std::future::pending().await
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
