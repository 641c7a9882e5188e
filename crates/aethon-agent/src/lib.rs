//! The assistant's engine: it accepts messages, keeps them in order, asks the model, runs the tools, and stores the
//! results.
//!
//! The modules: `admission` (which messages are admitted, and in which form), `documents`
//! (those that come with a message, as text), `dispatcher` (which turn runs when),
//! `engine` (one turn), `models` (which one is called, in which order), `meter` (the cost of that), `window` (the
//! part of a conversation that a model sees), `hooks` (one file per concern), `prompt` (the system prompt), `changes`
//! (reports changes of the model's instructions to the owner), `outbox` (delivers replies elsewhere), `roster` (the
//! agents that the main one calls). Models, tools and storage are traits of the core; this crate knows no other leaf.
//! Workflows (SOPs, jobs, multi-turn work) are in front of it, in `aethon-workflows`.

mod admission;
mod agent;
mod catch_panic;
pub mod changes;
mod control;
mod dispatcher;
mod documents;
mod engine;
pub mod hooks;
mod meter;
mod models;
mod open_approvals;
mod options;
pub mod outbox;
pub mod prompt;
mod random;
mod roster;
mod services;
mod tasks;
mod toolbox;
mod window;

pub use agent::{Agent, AgentModels, ChosenModels, ModelDirectory};
pub use engine::Engine;
pub use hooks::Hooks;
pub use meter::{
    Booked, CallError, Ending, Fallback, Grant, Meter, ModelCall, Prices, Settled, Work, pricing_key,
};
pub use models::Models;
pub use open_approvals::OpenApprovals;
pub use options::{Cache, Compaction, LoopLimits, Options, QueueLimits, Resume};
pub use roster::{Roster, SpecialistSource};
pub use services::{Learned, Services};
pub use toolbox::{Approvals, Audit, GuardedToolbox};
