//! SOPs: named workflows in Markdown that the owner, a job, a webhook or an MCP client runs by name.
//!
//! A [`Sop`] is a parsed file; reading and validating files is up to the agent crate. [`SopCatalog`] lists the built-in
//! SOPs and those of the workspace, as they currently are. A [`SopRun`] is the record of one run; [`SopRuns`] stores
//! it.

mod catalog;
mod definition;
mod run;

pub use catalog::{BrokenSop, SopCatalog, SopCheck, SopDraft, SopFault, SopRefusal, SopVersion};
pub use definition::{InvalidSopName, Sop, SopName, SopOrigin, SopParameter, SopStep, StepSchema};
pub use run::{SopRun, SopRunChange, SopRunState, SopRunner, SopRuns};
