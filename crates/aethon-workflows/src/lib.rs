//! Workflows in front of the engine and around it: SOPs, multi-turn work, scheduled jobs, and the specialists to which the
//! main agent delegates.
//!
//! `sop` runs workflows by name, `work` carries out plans that take more than one turn, `schedule` runs jobs when they are
//! due, and `specialists` defines agents. `commands` is the entry point in front of the engine. All of them work
//! through [`aethon_core::assistant::Assistant`], in ordinary turns: dedupe, budget, hooks, approvals and recovery are
//! the engine's, which this crate does not know.

mod commands;
mod digest;
mod mcp_command;
mod model_command;
mod notice;
mod prompts;
pub mod schedule;
pub mod sop;
pub mod specialists;
pub mod work;

pub use commands::{Claim, CommandHandler, Commands};
pub use digest::digest;
pub use mcp_command::McpCommand;
pub use model_command::ModelCommand;
pub use prompts::PromptFolder;
