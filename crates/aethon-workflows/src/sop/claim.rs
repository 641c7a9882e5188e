//! The effect of a claimed message on runs: completed once the engine has accepted the message, undone otherwise.

use std::collections::BTreeMap;

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::sop::SopRunChange;
use async_trait::async_trait;

use super::open_runs::OpenRun;
use super::runs::Sops;
use crate::commands::Claim;

/// A message that was claimed, with its effect on runs.
pub(super) struct SopClaim {
    pub(super) sops: Sops,
    pub(super) session: SessionId,
    pub(super) effect: Effect,
}

/// How a message affects runs.
pub(super) enum Effect {
    /// It cancels the run that waits.
    Cancel,
    /// It opened a run, which now asks for parameters.
    Ask { run_id: String, before: Option<OpenRun> },
    /// It gave a run that asks more of its parameters; these are the ones that were known before.
    Fill { run_id: String, before: BTreeMap<String, String> },
    /// A turn begins to work on a run.
    Begin(Beginning),
    /// It continues a run that waited.
    Continue { run_id: String },
}

/// A run whose turn is about to begin.
pub(super) struct Beginning {
    pub(super) run_id: String,
    pub(super) parameters: BTreeMap<String, String>,
    /// The run that was open in the session before.
    pub(super) before: Option<OpenRun>,
    /// Whether the message opened the run; otherwise it answered the run's question for parameters.
    pub(super) is_opened: bool,
}

#[async_trait]
impl Claim for SopClaim {
    async fn confirm(self: Box<Self>, turn: &TurnId) -> Result<()> {
        let Self { sops, session, effect } = *self;
        match effect {
            Effect::Cancel => sops.stop_waiting_run(&session).await,
            Effect::Ask { before, .. } => sops.stop_if_waiting(before).await,
            Effect::Begin(Beginning { run_id, parameters, before, is_opened }) => {
                let change = SopRunChange {
                    turn: Some(turn.clone()),
                    parameters: Some(parameters),
                    ..SopRunChange::default()
                };
                sops.parts.runs.change(&run_id, change).await?;
                sops.parts.publish(&run_id).await;
                // A run that answers its own question was the one before.
                sops.stop_if_waiting(before.filter(|_| is_opened)).await
            }
            Effect::Fill { .. } | Effect::Continue { .. } => Ok(()),
        }
    }

    async fn undo(self: Box<Self>) -> Result<()> {
        let Self { sops, session, effect } = *self;
        match effect {
            Effect::Cancel => Ok(()),
            Effect::Ask { run_id, before } => {
                sops.restore_open_run(&session, &run_id, before);
                sops.parts.runs.discard(&run_id).await
            }
            Effect::Fill { run_id, before } => {
                let change = SopRunChange { parameters: Some(before), ..SopRunChange::default() };
                sops.parts.runs.change(&run_id, change).await.map(drop)
            }
            Effect::Begin(Beginning { run_id, before, is_opened, .. }) => {
                sops.restore_open_run(&session, &run_id, before);
                if is_opened { sops.parts.runs.discard(&run_id).await } else { Ok(()) }
            }
            Effect::Continue { run_id } => {
                sops.open.set_waiting(&session, &run_id);
                Ok(())
            }
        }
    }
}
