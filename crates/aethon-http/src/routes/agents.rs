//! `/api/agents`: the current and past work of agents.

use aethon_core::agents::{AgentActivity, AgentRun, AgentStanding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Activity;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// All agents: those at work, and their finished runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentList")]
pub(super) struct Agents {
    /// Agents at work, longest-running first.
    active: Vec<AgentActivity>,
    /// Finished runs, newest first.
    history: Vec<AgentRun>,
    /// All agents, at work or not.
    agents: Vec<AgentStanding>,
}

/// The agents at work.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActiveAgents")]
pub(super) struct Active {
    active: Vec<AgentActivity>,
}

/// Finished runs of agents.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentHistory")]
pub(super) struct History {
    history: Vec<AgentRun>,
}

/// Which finished runs are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<50, 1000>,
}

/// `GET /api/agents?limit`: all agents, the active ones, and the history.
pub(super) async fn all(activity: Activity, request: Request) -> HandlerResult {
    let Listing { limit } = request.queried()?;
    let history = activity.agents.history().newest(limit.get()).await?;
    let (active, agents) = (activity.agents.active(), activity.agents.standing());
    response::json(&Agents { active, history, agents })
}

/// `GET /api/agents/active`.
pub(super) fn active(activity: Activity, _request: &Request) -> HandlerResult {
    response::json(&Active { active: activity.agents.active() })
}

/// `GET /api/agents/history?limit`.
pub(super) async fn history(activity: Activity, request: Request) -> HandlerResult {
    let Listing { limit } = request.queried()?;
    response::json(&History { history: activity.agents.history().newest(limit.get()).await? })
}
