//! `/api/agents`: the current and past work of agents.

use aethon_core::agents::{AgentActivity, AgentRun, AgentStanding};
use serde::Serialize;

use crate::deps::Activity;
use crate::request::Request;
use crate::response::{self, HandlerResult};

#[derive(Serialize)]
struct Agents {
    /// Agents at work, longest-running first.
    active: Vec<AgentActivity>,
    /// Finished runs, newest first.
    history: Vec<AgentRun>,
    /// All agents, at work or not.
    agents: Vec<AgentStanding>,
}

#[derive(Serialize)]
struct Active {
    active: Vec<AgentActivity>,
}

#[derive(Serialize)]
struct History {
    history: Vec<AgentRun>,
}

/// `GET /api/agents?limit`: all agents, the active ones, and the history.
pub(super) async fn all(activity: Activity, request: Request) -> HandlerResult {
    let history = activity.agents.history().newest(limit(&request)?).await?;
    let (active, agents) = (activity.agents.active(), activity.agents.standing());
    response::json(&Agents { active, history, agents })
}

/// `GET /api/agents/active`.
pub(super) fn active(activity: Activity, _request: &Request) -> HandlerResult {
    response::json(&Active { active: activity.agents.active() })
}

/// `GET /api/agents/history?limit`.
pub(super) async fn history(activity: Activity, request: Request) -> HandlerResult {
    response::json(&History { history: activity.agents.history().newest(limit(&request)?).await? })
}

fn limit(request: &Request) -> Result<usize, crate::error::Problem> {
    request.number("limit", 50, 1..=1000)
}
