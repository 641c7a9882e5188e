//! Work that takes more than one turn: a goal, planned as tasks, each with its acceptance criteria.
//!
//! The work ledger is what survives: a finished task is never done again, whatever happens to the program. Planning and
//! working are up to the agent crate; viewing, stopping and pausing are open to everybody with access to [`WorkBook`].

mod book;
mod command;
mod plan;
mod store;
mod task;

pub use book::{WorkBook, WorkRefusal, WorkStatus};
pub use command::WorkCommand;
pub use plan::{NewTask, Plan, PlanFault};
pub use store::WorkStore;
pub use task::{PlannedFor, TaskState, Work, WorkOrigin, WorkSpent, WorkState, WorkTask};
