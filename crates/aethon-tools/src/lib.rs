//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist, `time` tells the time, `files` reads files: only what [`Workspace`] lets through,
//! `shell` runs commands, and makes sure that everything they start ends.

mod files;
mod options;
mod set;
mod shell;
mod time;

pub use files::{Opened, Workspace};
pub use options::{Options, Sandbox, ShellOptions};
pub use set::tools;
