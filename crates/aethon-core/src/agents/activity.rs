//! What is told of an agent: who it is, and what it does at the moment.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, SessionId};
use crate::ledger::WorkKind;

/// Who an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentProfile {
    /// Its name.
    pub name: AgentName,
    /// What it is for, in a few words.
    pub role: String,
    /// The model that it asks first.
    pub model: String,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It has nothing to do.
    Idle,
    /// It asks its model, or is about to.
    Thinking,
    /// It runs a tool.
    Tool,
    /// It waits for a person to allow a call.
    WaitingApproval,
    /// Its last turn failed.
    Failed,
}

/// An agent at work, on one turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentActivity {
    /// This piece of work: the turn.
    pub agent_id: String,
    /// The agent.
    pub name: AgentName,
    /// What it is for.
    pub role: String,
    /// Where it works.
    pub session_id: SessionId,
    /// What it does.
    pub state: AgentState,
    /// Since when it does so.
    #[serde(serialize_with = "crate::time::serialize")]
    pub since: Timestamp,
    /// The tool that runs, or waits for a person.
    pub tool: Option<String>,
    /// When the work began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// The work that this is a part of, where another agent asked for it.
    pub parent: Option<String>,
    /// The words that it was asked with, shortened.
    pub task: String,
}

/// An agent, and what it does at the moment: `thinking`, `tool` or `waiting_approval` if any work of it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentStanding {
    /// Who it is.
    #[serde(flatten)]
    pub profile: AgentProfile,
    /// What it does.
    pub state: AgentState,
    /// On how many turns it works.
    pub active: usize,
}
