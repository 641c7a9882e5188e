//! What is kept of SOPs that were run.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::SopName;
use crate::error::Result;
use crate::ids::{SessionId, TurnId};

/// A SOP that was run, or is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SopRun {
    /// Its own name.
    pub run_id: String,
    /// The SOP.
    pub sop_name: SopName,
    /// Where it runs.
    pub session_id: SessionId,
    /// The turn that works on it, or did last.
    #[serde(skip)]
    pub turn: Option<TurnId>,
    /// Where it stands.
    pub state: SopRunState,
    /// The step that was begun last, from 1; 0 before the first.
    pub step: u32,
    /// The steps that are done, as the model says.
    pub steps_done: u32,
    /// How many there are.
    pub steps: u32,
    /// What the parameters are, as far as they are known.
    #[serde(skip)]
    pub parameters: BTreeMap<String, String>,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// What it has cost, in USD.
    pub cost_usd: f64,
    /// Why it ended, where it did not end well.
    pub error: Option<String>,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SopRunState {
    /// The program waits for parameters.
    Asking,
    /// A turn works on it.
    Running,
    /// Its turn has ended before its last step: the person is to answer.
    Waiting,
    /// All is done.
    Done,
    /// A turn of it failed.
    Failed,
    /// A person has stopped it.
    Stopped,
}

impl SopRunState {
    const ALL: [Self; 6] =
        [Self::Asking, Self::Running, Self::Waiting, Self::Done, Self::Failed, Self::Stopped];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The state that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the next message of its session goes on with it.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Asking | Self::Waiting)
    }
}

/// What changes in a run. What is absent stays.
#[derive(Debug, Clone, Default)]
pub struct SopRunChange {
    /// Where it stands now.
    pub state: Option<SopRunState>,
    /// The turn that works on it now.
    pub turn: Option<TurnId>,
    /// The step that was begun.
    pub step: Option<u32>,
    /// How many steps are done.
    pub steps_done: Option<u32>,
    /// The parameters as they are known now.
    pub parameters: Option<BTreeMap<String, String>>,
    /// What it has cost besides, in USD.
    pub more_usd: f64,
    /// Why it ended, where it did not end well.
    pub error: Option<String>,
}

/// The storage of runs.
#[async_trait]
pub trait SopRuns: Send + Sync {
    /// Stores a new run.
    async fn open(&self, run: &SopRun) -> Result<()>;

    /// Changes one. `false` when there is none.
    async fn change(&self, run_id: &str, change: SopRunChange) -> Result<bool>;

    /// Forgets one that did not come to be.
    async fn discard(&self, run_id: &str) -> Result<()>;

    /// The run that a turn works on, or did.
    async fn of_turn(&self, turn: &TurnId) -> Result<Option<SopRun>>;

    /// One run.
    async fn run(&self, run_id: &str) -> Result<Option<SopRun>>;

    /// Runs, the newest first; those in one state only, if that is given.
    async fn runs(&self, state: Option<SopRunState>, limit: usize) -> Result<Vec<SopRun>>;
}

/// Takes runs up again that have lost their turn.
#[async_trait]
pub trait SopRunner: Send + Sync {
    /// Goes on with a run where it was, in its session. The turn that does so is stored when this returns.
    async fn resume(&self, run_id: &str) -> Result<TurnId>;
}
