//! Records of SOP runs.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::SopName;
use crate::error::Result;
use crate::ids::{SessionId, TurnId};
use crate::words::words;

/// A run of a SOP.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SopRun {
    /// Its id.
    pub run_id: String,
    /// The SOP.
    pub sop_name: SopName,
    /// The session in which it runs.
    pub session_id: SessionId,
    /// The turn that works on it, or last did.
    #[serde(skip)]
    pub turn: Option<TurnId>,
    /// Its state.
    pub state: SopRunState,
    /// The last step that was begun, from 1; 0 before the first.
    pub step: u32,
    /// How many steps are done, according to the model.
    pub steps_done: u32,
    /// How many steps there are.
    pub steps: u32,
    /// The parameters known so far.
    #[serde(skip)]
    pub parameters: BTreeMap<String, String>,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// Its cost so far, in USD.
    pub cost_usd: f64,
    /// Why it ended, if it did not succeed.
    pub error: Option<String>,
}

words! {
    /// The state of a run.
    pub enum SopRunState {
        /// The program is waiting for parameters.
        Asking = "asking",
        /// A turn is working on it.
        Running = "running",
        /// Its turn ended before the last step: the person has to answer.
        Waiting = "waiting",
        /// Everything is done.
        Done = "done",
        /// A turn of it failed.
        Failed = "failed",
        /// A person stopped it.
        Stopped = "stopped",
    }
}

impl SopRunState {
    /// Returns whether the next message of its session continues it.
    pub fn awaits_message(self) -> bool {
        matches!(self, Self::Asking | Self::Waiting)
    }
}

/// A change of a run; absent fields stay.
#[derive(Debug, Clone, Default)]
pub struct SopRunChange {
    /// The new state.
    pub state: Option<SopRunState>,
    /// The turn that works on it now.
    pub turn: Option<TurnId>,
    /// The step that was begun.
    pub step: Option<u32>,
    /// How many steps are done.
    pub steps_done: Option<u32>,
    /// The parameters as they are known now.
    pub parameters: Option<BTreeMap<String, String>>,
    /// Additional cost, in USD.
    pub more_usd: f64,
    /// Why it ended, if it did not succeed.
    pub error: Option<String>,
}

/// Stores runs.
#[async_trait]
pub trait SopRuns: Send + Sync {
    /// Stores a new run.
    async fn open(&self, run: &SopRun) -> Result<()>;

    /// Changes a run. `false` if there is none.
    async fn change(&self, run_id: &str, change: SopRunChange) -> Result<bool>;

    /// Removes a run that did not begin after all.
    async fn discard(&self, run_id: &str) -> Result<()>;

    /// Returns the run that a turn works on, or did.
    async fn of_turn(&self, turn: &TurnId) -> Result<Option<SopRun>>;

    /// Returns one run.
    async fn run(&self, run_id: &str) -> Result<Option<SopRun>>;

    /// Returns runs, newest first; only those in one state, if given.
    async fn runs(&self, state: Option<SopRunState>, limit: usize) -> Result<Vec<SopRun>>;
}

/// Resumes runs that have lost their turn.
#[async_trait]
pub trait SopRunner: Send + Sync {
    /// Continues a run where it was, in its session. The turn that does so is stored when this returns.
    async fn resume(&self, run_id: &str) -> Result<TurnId>;
}
