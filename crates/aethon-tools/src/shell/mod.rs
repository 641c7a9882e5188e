//! Runs commands. `process` starts, watches and ends processes, `run` controls a call, `output` keeps the output,
//! `progress` shows it meanwhile; `runner` decides where a command runs, `slots` how many run at once, `bounds` what
//! each may use; `tool` is the tool itself. A hook elsewhere judges which commands are refused.

mod bounds;
mod output;
mod process;
mod progress;
mod run;
mod runner;
mod slots;
mod tool;

pub use process::MARK;
pub(crate) use process::{ExitKind, Group, Launch, Running, Streams, start};
pub(crate) use runner::{Runner, Script, program};
pub use slots::CommandSlots;
pub(crate) use tool::{Shell, report_of};
