//! The runs of SOPs: opening them, ending them, and bringing them up to date after a restart.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::hook::Hook;
use aethon_core::ids::{SessionId, unique};
use aethon_core::sop::{Sop, SopCatalog, SopRun, SopRunChange, SopRunState, SopRuns};
use jiff::SignedDuration;

use super::input::SopInput;
use super::open_runs::{OpenRun, OpenRuns};
use super::parts::SopParts;
use super::record::{self, RecordSopRuns};

/// How many runs are resumed at start-up.
const MAX_OPEN: usize = 1_000;

/// The longest time between opening a run and recording its turn.
const MAX_HANDOVER: SignedDuration = SignedDuration::from_mins(1);

/// SOPs and their runs, before there is an engine. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Sops {
    pub(super) parts: SopParts,
    pub(super) open: OpenRuns,
}

impl Sops {
    /// SOPs over these parts.
    pub fn new(parts: SopParts) -> Self {
        Self { parts, open: OpenRuns::default() }
    }

    /// Returns the hook that the engine needs to keep runs up to date.
    pub fn hook(&self) -> Arc<dyn Hook> {
        Arc::new(RecordSopRuns::new(self.parts.clone(), self.open.clone()))
    }

    /// Returns the catalog of SOPs.
    pub fn catalog(&self) -> Arc<dyn SopCatalog> {
        self.parts.catalog.clone()
    }

    /// Returns the stored runs.
    pub fn runs(&self) -> Arc<dyn SopRuns> {
        self.parts.runs.clone()
    }

    /// Loads the runs that an earlier process had in progress. If that was killed between the end of a run's turn and
    /// the record of it, the record is made now.
    pub async fn load(&self) -> Result<()> {
        for state in [SopRunState::Running, SopRunState::Waiting, SopRunState::Asking] {
            for mut run in self.parts.runs.runs(Some(state), MAX_OPEN).await? {
                if state == SopRunState::Running {
                    let Some(updated) = self.updated(run).await? else { continue };
                    run = updated;
                }
                let is_waiting = run.state.awaits_message();
                self.open.set(&run.session_id, OpenRun { run_id: run.run_id, is_waiting });
            }
        }
        Ok(())
    }

    /// Brings a run that is stored as running up to date with the outcome of its turn; `None` if it is over.
    async fn updated(&self, run: SopRun) -> Result<Option<SopRun>> {
        let runs = &self.parts.runs;
        let Some(turn) = &run.turn else {
            // Another program may be handing it on right now. If its turn does begin, that will be recorded.
            if self.parts.clock.now().duration_since(run.updated_at) < MAX_HANDOVER {
                return Ok(Some(run));
            }
            let change = SopRunChange {
                state: Some(SopRunState::Failed),
                error: Some("interrupted before it began; `aethon-cli sop resume` begins it".into()),
                ..SopRunChange::default()
            };
            runs.change(&run.run_id, change).await?;
            return Ok(None);
        };
        let reply = self.parts.turns.turn(turn).await?.and_then(|turn| turn.reply);
        let Some(reply) = reply else { return Ok(Some(run)) };
        // Money spent before the end is already included.
        let change = record::change(&run, &reply, reply.usage.cost_usd);
        runs.change(&run.run_id, change).await?;
        Ok(runs.run(&run.run_id).await?.filter(|run| run.state.awaits_message()))
    }

    /// Stores a new run.
    pub(super) async fn open_run(
        &self,
        session: &SessionId,
        sop: &Sop,
        input: &SopInput,
        state: SopRunState,
    ) -> Result<String> {
        let now = self.parts.clock.now();
        let run = SopRun {
            run_id: unique(),
            sop_name: sop.name.clone(),
            session_id: session.clone(),
            turn: None,
            state,
            step: 0,
            steps_done: 0,
            steps: u32::try_from(sop.steps.len()).unwrap_or(u32::MAX),
            parameters: input.parameters.clone(),
            started_at: now,
            updated_at: now,
            cost_usd: 0.0,
            error: None,
        };
        self.parts.runs.open(&run).await?;
        Ok(run.run_id)
    }

    /// Ends the run that waits in a session.
    pub(super) async fn stop_waiting_run(&self, session: &SessionId) -> Result<()> {
        let Some(run) = self.open.get(session).filter(|run| run.is_waiting) else { return Ok(()) };
        self.open.remove(session, &run.run_id);
        self.stop_if_waiting(Some(run)).await
    }

    /// Ends a run that waited for its person and that another one has replaced.
    pub(super) async fn stop_if_waiting(&self, run: Option<OpenRun>) -> Result<()> {
        let Some(OpenRun { run_id, is_waiting: true }) = run else { return Ok(()) };
        let change = SopRunChange { state: Some(SopRunState::Stopped), ..SopRunChange::default() };
        self.parts.runs.change(&run_id, change).await?;
        self.parts.publish(&run_id).await;
        Ok(())
    }

    /// Replaces a run that did not begin by the one that was open in the session before.
    pub(super) fn restore_open_run(&self, session: &SessionId, run_id: &str, before: Option<OpenRun>) {
        self.open.remove(session, run_id);
        if let Some(before) = before {
            self.open.set(session, before);
        }
    }
}
