//! Work that takes more than one turn.
//!
//! A plan comes in through the tool `tasks` (or the API) and is kept as a whole. The daemon's `runner` works through
//! its tasks one by one, each in turns of its own, until all are done or a limit is reached; the result is reported
//! where the plan was made. `book` contains the operations, `commands` the chat command, `limits`
//! what ends a piece of work, `brief` the texts. The stored state decides: a finished task is never begun again.

mod book;
mod brief;
mod commands;
mod limits;
mod notifier;
mod places;
mod runner;
mod tool;

pub use book::{WorkOptions, Works};
pub use commands::WorkCommands;
pub use limits::WorkLimits;
pub use runner::{Idle, WorkRunner};
pub use tool::Tasks;
