//! Running a tool call: the one place where checks, hooks and approvals come before it, whoever asked for it.

mod approval_prompt;
mod arguments;
mod audit;
mod guarded;
mod returned;
mod table;

pub use audit::Audit;
pub use guarded::{Approvals, GuardedToolbox};
