//! Running commands. What is started, watched and ended is in `process`, the course of a call in `run`, what is kept of
//! its output in `output`, what is shown of it meanwhile in `progress`; `runner` knows where it runs, `slots` how many at once, `bounds` what each may take; `tool` is what a model sees. Which commands are refused is judged elsewhere, by a hook.

mod bounds;
mod output;
mod process;
mod progress;
mod run;
mod runner;
mod slots;
mod tool;

pub use process::MARK;
pub(crate) use process::{Ended, Group, Launch, Running, Streams, start};
pub(crate) use runner::{Runner, Script, program};
pub use slots::CommandSlots;
pub(crate) use tool::{Shell, report_of};
