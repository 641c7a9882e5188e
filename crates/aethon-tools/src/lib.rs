//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist and has the small ones, `history` finds what was said, `files` reads files: only what [`Workspace`] lets through,
//! `shell` runs commands, and makes sure that everything they start ends. `programs` starts those that the assistant talks to. `confine` is the walls round whatever is started,
//! and `places` the list of what is closed.

mod confine;
mod files;
mod history;
mod options;
mod places;
mod programs;
mod set;
mod shell;

pub use confine::{Confinement, Protection};
pub use files::{Opened, Workspace};
pub use options::{Options, ShellOptions};
pub use programs::ConfinedPrograms;
pub use set::tools;
pub use shell::MARK;
