//! What an agent has done: one turn, with its tools, its time and its cost.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::ids::{AgentName, SessionId};
use crate::ledger::WorkKind;
use crate::message::TurnEnd;
use crate::model::Usage;

/// One turn of an agent that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRun {
    /// This piece of work: the turn.
    pub agent_id: String,
    /// The agent.
    pub name: AgentName,
    /// What it is for.
    pub role: String,
    /// Where it worked.
    pub session_id: SessionId,
    /// What kind of work it was.
    pub kind: WorkKind,
    /// The work that this was a part of, where another agent asked for it.
    #[serde(default)]
    pub parent: Option<String>,
    /// The words that it was asked with, shortened.
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
    /// What it took.
    #[serde(flatten)]
    pub usage: Usage,
}

/// How often a tool was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCount {
    /// The tool.
    pub name: String,
    /// How often it ran.
    pub calls: u32,
}

/// The storage of what agents have done.
#[async_trait]
pub trait AgentHistory: Send + Sync {
    /// Keeps one more. The oldest go when there are too many.
    async fn add(&self, run: AgentRun) -> Result<()>;

    /// The newest, newest first.
    async fn newest(&self, limit: usize) -> Result<Vec<AgentRun>>;
}

/// Keeps nothing.
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
