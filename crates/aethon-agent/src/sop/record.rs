//! Keeps the runs of SOPs up to date as their turns begin and end: a hook, so that it holds for turns that are taken up
//! after a crash as well.

use std::sync::Arc;

use aethon_core::event::{Event, EventBus};
use aethon_core::hook::{AddedContext, Hook};
use aethon_core::message::{EndReason, Failure, Handling, Inbound, Reply, TurnEnd};
use aethon_core::sop::{SopRun, SopRunChange, SopRunState, SopRuns};
use aethon_core::turn::TurnContext;
use async_trait::async_trait;

use super::door::Open;

/// The hook.
pub(super) struct RecordSopRuns {
    pub(super) runs: Arc<dyn SopRuns>,
    pub(super) open: Open,
    pub(super) bus: EventBus,
}

#[async_trait]
impl Hook for RecordSopRuns {
    fn name(&self) -> &'static str {
        "sop-runs"
    }

    async fn before_turn(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<AddedContext>, Failure> {
        if let Handling::Sop { run: Some(run), .. } = &inbound.handling {
            let change = SopRunChange {
                state: Some(SopRunState::Running),
                turn: Some(turn.turn.clone()),
                ..SopRunChange::default()
            };
            // The record is for people; a run goes on without it.
            if let Err(error) = self.runs.change(run, change).await {
                tracing::warn!(%error, run, "the beginning of a SOP's turn was not written down");
            }
            tell(&self.bus, &*self.runs, run).await;
        }
        Ok(Vec::new())
    }

    async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        // Most turns have nothing to do with a SOP, and ask nobody about it.
        if !self.open.has(&turn.session) {
            return;
        }
        let ended = async {
            let Some(run) = self.runs.of_turn(&turn.turn).await? else { return Ok(()) };
            if run.state != SopRunState::Running {
                return Ok(());
            }
            let change = change(&run, reply);
            if change.state.is_some_and(SopRunState::goes_on) {
                self.open.waits(&turn.session, &run.run_id);
            } else {
                self.open.ended(&turn.session, &run.run_id);
            }
            self.runs.change(&run.run_id, change).await?;
            tell(&self.bus, &*self.runs, &run.run_id).await;
            Ok::<_, aethon_core::error::Error>(())
        };
        if let Err(error) = ended.await {
            tracing::warn!(%error, turn = %turn.turn, "the end of a SOP's turn was not written down");
        }
    }
}

/// What the end of a turn makes of its run.
fn change(run: &SopRun, reply: &Reply) -> SopRunChange {
    let has_more = run.step > 0 && run.steps_done < run.steps && run.step < run.steps;
    let failure = |reply: &Reply| reply.failure.as_ref().map(|failure| failure.message.clone());
    let (state, error) = match reply.end {
        TurnEnd::End if has_more => (SopRunState::Waiting, None),
        TurnEnd::End => (SopRunState::Done, None),
        TurnEnd::Stopped => (SopRunState::Stopped, None),
        // It can be taken up again where it was.
        TurnEnd::Error
            if reply.failure.as_ref().is_some_and(|failure| failure.code == EndReason::Interrupted) =>
        {
            (SopRunState::Failed, Some("interrupted by a restart; `aethon-cli sop resume` goes on".into()))
        }
        TurnEnd::Error | TurnEnd::Limit | TurnEnd::Budget => (SopRunState::Failed, failure(reply)),
    };
    let more_usd = reply.usage.cost_usd;
    SopRunChange { state: Some(state), error, more_usd, ..SopRunChange::default() }
}

/// Shows a run to those who watch.
pub(super) async fn tell(bus: &EventBus, runs: &dyn SopRuns, run_id: &str) {
    if bus.has_listeners()
        && let Ok(Some(run)) = runs.run(run_id).await
    {
        bus.publish(|| Event::SopRun(Arc::new(run)));
    }
}
