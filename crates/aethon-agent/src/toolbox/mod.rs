//! Running a tool call: the one place where checks, hooks and approvals come before it, whoever asked for it.

mod approval_prompt;
mod arguments;
mod guarded;
mod returned;
mod table;

pub use guarded::{Approvals, GuardedToolbox};
