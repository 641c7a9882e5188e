//! The assistant's engine: it accepts messages, keeps them in order, asks the model, runs the tools, and stores the
//! results.
//!
//! The modules: `admission` (what is admitted, and in which form), `dispatcher` (which turn runs when), `engine` (one
//! turn), `models` (which one is asked, in which order), `meter` (what that costs), `window` (what a model sees of a
//! conversation), `hooks` (one file per concern), `shell_rules` (which commands are refused), `prompt` (the system
//! prompt), `changes` (what the owner is told of changes to what instructs the model), `own_files` (reading files while
//! turns wait), `outbox` (delivering replies elsewhere), `sop` (workflows by name), `schedule` (scheduled jobs),
//! `specialists` (agents that the main one asks), `work` (what takes more than one turn). Models, tools and storage are
//! traits of the core; this crate knows no other leaf.

mod admission;
mod agent;
mod caught;
pub mod changes;
mod control;
mod dispatcher;
mod engine;
pub mod hooks;
mod meter;
mod models;
mod open_questions;
mod options;
pub mod outbox;
mod own_files;
mod patience;
pub mod prompt;
mod random;
pub mod schedule;
mod services;
pub mod shell_rules;
pub mod sop;
pub mod specialists;
mod storage_log;
mod tasks;
mod toolbox;
mod window;
pub mod work;

pub use agent::{Agent, AgentModels};
pub use engine::Engine;
pub use hooks::Hooks;
pub use meter::{
    Booked, CallError, Ending, Grant, Meter, ModelCall, Prices, Settled, StandIn, Work, pricing_key,
};
pub use models::Models;
pub use open_questions::OpenQuestions;
pub use options::{Cache, Compaction, Options, QueueLimits, Resume};
pub use services::{Learned, Services};
pub use toolbox::{Approvals, Audit, GuardedToolbox};
