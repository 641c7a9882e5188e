//! Runs tool calls: the only place where checks, hooks and approvals precede a call, regardless of its caller.

mod approval_prompt;
mod approvals;
mod arguments;
mod audit;
mod guarded;
mod questions;
mod returned;
mod table;

pub use approvals::Approvals;
pub use audit::Audit;
pub use guarded::GuardedToolbox;
