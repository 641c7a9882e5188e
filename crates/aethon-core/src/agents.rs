//! What each agent is doing and has done, for the dashboard, the API and the terminal.
//!
//! A working agent is one row of the [`AgentBoard`]: it works on one turn, thinks, runs a tool or waits for a person.
//! When the turn is over, an [`AgentRun`] goes to the [`AgentHistory`], which survives a restart. No turn depends on
//! any of this.

mod activity;
mod board;
mod run;

pub use activity::{AgentActivity, AgentProfile, AgentStanding, AgentState};
pub use board::{AgentBoard, Asking, Caller};
pub use run::{AgentHistory, AgentRun, NoAgentHistory, ToolCount};
