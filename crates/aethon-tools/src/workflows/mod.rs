//! Workflow tools: reporting the current step of a SOP, and creating, listing and removing scheduled jobs.

mod schedule;
mod sop_step;
mod tools;

pub use self::tools::workflow_tools;
