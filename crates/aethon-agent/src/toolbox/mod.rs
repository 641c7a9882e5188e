//! Running a tool call: the one place where checks, hooks and approvals come before it, whoever asked for it.

mod arguments;
mod gate;
mod guarded;

pub use guarded::{GuardedToolbox, ToolboxOptions};
