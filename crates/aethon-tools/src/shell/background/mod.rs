//! Commands that run on in the background of a conversation, after the call that started them.
//!
//! `registry` has all of them, with their limits, and is what clients see; `record` is one, with its output; `life` runs
//! it to its end; `start` is the call that starts one, `tool` the tool that reads and stops them, and `ended` the hook that tells
//! the next turn of their ends.
//!
//! A command is a task of this program, which holds the command's processes the way a call of `shell` does. When the task or
//! the program goes, however that happens, so do they.

mod ended;
mod life;
mod record;
mod registry;
mod start;
mod tool;

pub use ended::EndedCommands;
pub use registry::{CommandRegistry, CommandsElsewhere};
pub(super) use start::{NewCommand, start};
pub(crate) use tool::BackgroundTool;
