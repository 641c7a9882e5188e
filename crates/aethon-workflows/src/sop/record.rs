//! Keeps SOP runs up to date as their turns begin, spend and end. It is a hook, so that it also covers turns that are
//! resumed after a crash.
//!
//! Money is added call by call, so a crash loses none of it. The calls of specialists count towards the turn that
//! called them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::hook::{AddedContext, Hook};
use aethon_core::ids::TurnId;
use aethon_core::message::{EndReason, Failure, Handling, Inbound, Message, Reply, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::sop::{SopRun, SopRunChange, SopRunState};
use aethon_core::turn::TurnContext;
use async_trait::async_trait;

use super::open_runs::OpenRuns;
use super::parts::SopParts;

/// How many turns are remembered: more than run at once.
const MAX_TURNS: usize = 4096;

/// The hook.
pub(super) struct RecordSopRuns {
    parts: SopParts,
    open: OpenRuns,
    /// How much of the cost of its own calls each turn has added to its run.
    counted: Mutex<BTreeMap<TurnId, f64>>,
}

impl RecordSopRuns {
    /// Keeps these runs up to date and announces their changes.
    pub(super) fn new(parts: SopParts, open: OpenRuns) -> Self {
        Self { parts, open, counted: Mutex::default() }
    }

    /// Adds the cost of a call to the run that it was made for.
    async fn spend(&self, turn: &TurnContext, cost_usd: f64) -> aethon_core::error::Result<()> {
        let caller = self.parts.board.caller(&turn.session);
        let (session, of) =
            caller.as_ref().map_or((&turn.session, &turn.turn), |caller| (&caller.session, &caller.turn));
        if cost_usd <= 0.0 || !self.open.has(session) {
            return Ok(());
        }
        let Some(run) = self.parts.runs.of_turn(of).await? else { return Ok(()) };
        self.parts
            .runs
            .change(&run.run_id, SopRunChange { more_usd: cost_usd, ..SopRunChange::default() })
            .await?;
        if caller.is_none() {
            let mut counted = self.counted();
            *counted.entry(turn.turn.clone()).or_default() += cost_usd;
            while counted.len() > MAX_TURNS {
                counted.pop_first();
            }
        }
        self.parts.publish(&run.run_id).await;
        Ok(())
    }

    fn counted(&self) -> MutexGuard<'_, BTreeMap<TurnId, f64>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Hook for RecordSopRuns {
    fn name(&self) -> &'static str {
        "sop-runs"
    }

    async fn before_turn(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<AddedContext>, Failure> {
        if let Handling::Sop { run: Some(run), .. } = &inbound.handling {
            // Another program may have accepted the message.
            self.open.set_running(&turn.session, run);
            let change = SopRunChange {
                state: Some(SopRunState::Running),
                turn: Some(turn.turn.clone()),
                ..SopRunChange::default()
            };
            // The record is for people; a run continues without it.
            if let Err(error) = self.parts.runs.change(run, change).await {
                tracing::warn!(%error, run, "the beginning of a SOP's turn was not written down");
            }
            self.parts.publish(run).await;
        }
        Ok(Vec::new())
    }

    async fn after_model(&self, turn: &TurnContext, _outcome: Result<&Message, &Failure>, usage: &Usage) {
        if let Err(error) = self.spend(turn, usage.cost_usd).await {
            tracing::warn!(%error, turn = %turn.turn, "what a SOP's turn has cost was not written down");
        }
    }

    async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        // Most turns have nothing to do with a SOP and need no query.
        if !self.open.has(&turn.session) {
            return;
        }
        let ended = async {
            let Some(run) = self.parts.runs.of_turn(&turn.turn).await? else { return Ok(()) };
            if run.state != SopRunState::Running {
                return Ok(());
            }
            let counted_usd = self.counted().remove(&turn.turn).unwrap_or_default();
            let change = change(&run, reply, counted_usd);
            if change.state.is_some_and(SopRunState::awaits_message) {
                self.open.set_waiting(&turn.session, &run.run_id);
            } else {
                self.open.remove(&turn.session, &run.run_id);
            }
            self.parts.runs.change(&run.run_id, change).await?;
            self.parts.publish(&run.run_id).await;
            Ok::<_, aethon_core::error::Error>(())
        };
        if let Err(error) = ended.await {
            tracing::warn!(%error, turn = %turn.turn, "the end of a SOP's turn was not written down");
        }
    }
}

/// Returns how the end of a turn changes its run.
pub(super) fn change(run: &SopRun, reply: &Reply, counted_usd: f64) -> SopRunChange {
    let has_more = run.step > 0 && run.steps_done < run.steps && run.step < run.steps;
    let failure = |reply: &Reply| reply.failure.as_ref().map(|failure| failure.message.clone());
    let (state, error) = match reply.end {
        TurnEnd::End if has_more => (SopRunState::Waiting, None),
        TurnEnd::End => (SopRunState::Done, None),
        TurnEnd::Stopped => (SopRunState::Stopped, None),
        // It can be resumed where it was.
        TurnEnd::Error
            if reply.failure.as_ref().is_some_and(|failure| failure.code == EndReason::Interrupted) =>
        {
            (SopRunState::Failed, Some("interrupted by a restart; `aethon-cli sop resume` goes on".into()))
        }
        TurnEnd::Error | TurnEnd::Limit | TurnEnd::Budget => (SopRunState::Failed, failure(reply)),
    };
    // A model that failed before another one answered appears only in the turn's total.
    let more_usd = (reply.usage.cost_usd - counted_usd).max(0.0);
    SopRunChange { state: Some(state), error, more_usd, ..SopRunChange::default() }
}
