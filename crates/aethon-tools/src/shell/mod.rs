//! Runs commands. `process` starts, watches and ends processes, `run` controls a command, `output` keeps the output,
//! `progress` shows it meanwhile; `runner` decides where a command runs, `slots` how many run at once, `bounds` what
//! each may use; `tool` is the tool itself, and `background` has the commands that outlive their calls. A hook elsewhere judges
//! which commands are refused.

mod background;
mod bounds;
mod output;
mod process;
mod progress;
mod run;
mod runner;
mod slots;
mod tool;

pub(crate) use background::BackgroundTool;
pub use background::{CommandRegistry, CommandsElsewhere, EndedCommands};
pub use process::MARK;
pub(crate) use process::{ExitKind, Group, Launch, Running, Streams, start};
pub(crate) use runner::{Runner, Script, program};
pub use slots::CommandSlots;
pub(crate) use tool::{Shell, report_of};
