//! What is written of turns beside their messages. Of a temporary session it has the facts and no words: that a tool was
//! allowed, what a turn has cost, and not what it was about.

use std::ops::RangeInclusive;

use aethon_core::agents::{AgentHistory, AgentRun};
use aethon_core::audit::{AuditAction, AuditEntry, AuditLog};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::jiff::civil::Date;
use aethon_core::sop::{SopRun, SopRunChange, SopRunState, SopRuns};
use aethon_core::telemetry::{StoredEvent, TelemetryEvent, TelemetryLog, TelemetryQuery, TelemetrySum};
use async_trait::async_trait;

use super::storage::Temporary;

fn is_temporary(session: Option<&SessionId>) -> bool {
    session.is_some_and(SessionId::is_temporary)
}

#[async_trait]
impl AuditLog for Temporary {
    async fn record(&self, mut entry: AuditEntry) -> Result<()> {
        if is_temporary(entry.session_id.as_ref()) {
            entry.detail.clear();
        }
        self.lasting.audit.record(entry).await
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        self.lasting.audit.newest(limit).await
    }

    async fn newest_of(&self, action: AuditAction, limit: usize) -> Result<Vec<AuditEntry>> {
        self.lasting.audit.newest_of(action, limit).await
    }
}

#[async_trait]
impl AgentHistory for Temporary {
    async fn add(&self, mut run: AgentRun) -> Result<()> {
        if run.session_id.is_temporary() {
            run.task.clear();
            run.error = run.error.map(|_| String::new());
        }
        self.lasting.workflows.agent_runs.add(run).await
    }

    async fn newest(&self, limit: usize) -> Result<Vec<AgentRun>> {
        self.lasting.workflows.agent_runs.newest(limit).await
    }
}

#[async_trait]
impl TelemetryLog for Temporary {
    async fn keep_events(&self, mut events: Vec<TelemetryEvent>) -> Result<()> {
        for event in &mut events {
            if is_temporary(event.session_id.as_ref()) {
                event.detail.clear();
            }
        }
        self.lasting.telemetry.keep_events(events).await
    }

    async fn events(&self, query: TelemetryQuery) -> Result<Vec<StoredEvent>> {
        self.lasting.telemetry.events(query).await
    }

    async fn event_sums(&self, days: RangeInclusive<Date>) -> Result<Vec<TelemetrySum>> {
        self.lasting.telemetry.event_sums(days).await
    }
}

impl Temporary {
    fn runs_in(&self, is_temporary: bool) -> &dyn SopRuns {
        if is_temporary { &self.memory } else { &*self.lasting.workflows.sop_runs }
    }

    async fn runs_with(&self, run_id: &str) -> Result<&dyn SopRuns> {
        Ok(self.runs_in(SopRuns::run(&self.memory, run_id).await?.is_some()))
    }
}

/// A procedure that runs in a temporary session knows its parameters, and cannot be resumed without the session.
#[async_trait]
impl SopRuns for Temporary {
    async fn open(&self, run: &SopRun) -> Result<()> {
        self.runs_in(run.session_id.is_temporary()).open(run).await
    }

    async fn change(&self, run_id: &str, change: SopRunChange) -> Result<bool> {
        self.runs_with(run_id).await?.change(run_id, change).await
    }

    async fn discard(&self, run_id: &str) -> Result<()> {
        self.runs_with(run_id).await?.discard(run_id).await
    }

    async fn of_turn(&self, turn: &TurnId) -> Result<Option<SopRun>> {
        self.runs_in(self.has(turn)).of_turn(turn).await
    }

    async fn run(&self, run_id: &str) -> Result<Option<SopRun>> {
        self.runs_with(run_id).await?.run(run_id).await
    }

    async fn runs(&self, state: Option<SopRunState>, limit: usize) -> Result<Vec<SopRun>> {
        self.lasting.workflows.sop_runs.runs(state, limit).await
    }
}
