//! The public view of an agent: its profile and its activity.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, SessionId};
use crate::ledger::WorkKind;

/// The identity of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentProfile {
    /// Its name.
    pub name: AgentName,
    /// Its purpose, in a few words.
    pub role: String,
    /// The model that it asks first.
    pub model: String,
}

/// The activity of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AgentState {
    /// Nothing.
    Idle,
    /// Asking its model, or about to.
    Thinking,
    /// Running a tool.
    Tool,
    /// Waiting for a person to allow a call.
    WaitingApproval,
    /// Its last turn failed.
    Failed,
}

/// An agent at work, on one turn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentActivity {
    /// The id of this activity: the turn.
    pub agent_id: String,
    /// The agent.
    pub name: AgentName,
    /// Its purpose.
    pub role: String,
    /// The session in which it works.
    pub session_id: SessionId,
    /// Its current activity.
    pub state: AgentState,
    /// Since when it has been doing so.
    #[serde(serialize_with = "crate::time::serialize")]
    pub since: Timestamp,
    /// The tool that is running, or waiting for approval.
    pub tool: Option<String>,
    /// When the work began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// The activity that this is part of, if another agent asked for it.
    pub parent: Option<String>,
    /// The task as given to it, shortened.
    pub task: String,
}

/// An agent and its current state: `thinking`, `tool` or `waiting_approval` if any of its activities is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentStanding {
    /// Who it is.
    #[serde(flatten)]
    pub profile: AgentProfile,
    /// Its state.
    pub state: AgentState,
    /// The number of turns that it is working on.
    pub active: usize,
}
