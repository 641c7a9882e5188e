//! Work that takes more than one turn.
//!
//! A plan comes in by the tool `tasks` (or the API) and is kept whole. The `runner` of the daemon works its tasks one after
//! the other, each in turns of its own, until all are done or a limit is reached; what it came to is told where the plan was
//! made. `book` is what every door may do, `door` the command in a chat, `limits` what ends a piece of work, `brief` the
//! words. What is stored decides: a task that is done is never begun again.

mod book;
mod brief;
mod door;
mod limits;
mod notifier;
mod places;
mod runner;
mod tool;

pub use book::{WorkOptions, Works};
pub use door::WorkDoor;
pub use limits::WorkLimits;
pub use runner::{Idle, WorkRunner};
pub use tool::Tasks;
