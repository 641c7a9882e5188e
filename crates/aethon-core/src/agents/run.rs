//! The record of an agent's work: one turn, with its tools, duration and cost.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::ids::{AgentName, SessionId};
use crate::ledger::WorkKind;
use crate::message::TurnEnd;
use crate::model::Usage;

/// One finished turn of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRun {
    /// The id of this activity: the turn.
    pub agent_id: String,
    /// The agent.
    pub name: AgentName,
    /// Its purpose.
    pub role: String,
    /// The session in which it worked.
    pub session_id: SessionId,
    /// What kind of work it was.
    pub kind: WorkKind,
    /// The activity that this was part of, if another agent asked for it.
    #[serde(default)]
    pub parent: Option<String>,
    /// The task as given to it, shortened.
    #[serde(default)]
    pub task: String,
    /// How it ended.
    pub outcome: TurnEnd,
    /// What went wrong, as a sentence.
    pub error: Option<String>,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "crate::time::serialize")]
    pub ended_at: Timestamp,
    /// How long it took, in seconds.
    pub duration: f64,
    /// The tools that it used, in the order of their first use.
    pub tools: Vec<ToolCount>,
    /// The model that answered last.
    pub model: String,
    /// Its usage.
    #[serde(flatten)]
    pub usage: Usage,
}

/// How many times a tool was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCount {
    /// The tool.
    pub name: String,
    /// How many times it ran.
    pub calls: u32,
}

/// Stores what agents have done.
#[async_trait]
pub trait AgentHistory: Send + Sync {
    /// Stores a run. The oldest are dropped when there are too many.
    async fn add(&self, run: AgentRun) -> Result<()>;

    /// Returns the newest runs, newest first.
    async fn newest(&self, limit: usize) -> Result<Vec<AgentRun>>;
}

/// Stores nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgentHistory;

#[async_trait]
impl AgentHistory for NoAgentHistory {
    async fn add(&self, _run: AgentRun) -> Result<()> {
        Ok(())
    }

    async fn newest(&self, _limit: usize) -> Result<Vec<AgentRun>> {
        Ok(Vec::new())
    }
}
