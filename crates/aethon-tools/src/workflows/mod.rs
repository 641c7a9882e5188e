//! Tools of workflows: saying which step of a SOP is worked on, and making, listing and removing timed jobs.

mod schedule;
mod sop_step;
mod tools;

pub use self::tools::workflow_tools;
