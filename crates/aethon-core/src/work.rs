//! Work that takes more than one turn: a goal, planned as tasks, each with what must hold when it is done.
//!
//! The ledger of work is what survives: a task that is done is never done again, whatever happens to the program. What
//! plans and works is the agent crate's business; who may look, stop and pause is everybody's who reaches [`WorkBook`].

mod book;
mod plan;
mod store;
mod task;

pub use book::{WorkBook, WorkRefusal, WorkStatus};
pub use plan::{NewTask, Plan, PlanFault};
pub use store::{WorkStore, WorkWish};
pub use task::{PlannedFor, TaskState, Work, WorkOrigin, WorkSpent, WorkState, WorkTask};
