//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist and has the small ones, `history` finds what was said, `memory` and `pages` keep what is to be known later, `files` reads files: only what [`Workspace`] lets through,
//! `shell` runs commands, and makes sure that everything they start ends. `confine` is the walls round whatever is started,
//! and `places` the list of what is closed.

mod confine;
mod files;
mod history;
mod memory;
mod options;
mod pages;
mod places;
mod set;
mod shell;

pub use confine::{Confinement, Protection};
pub use files::{Opened, Workspace};
pub use options::{Options, ShellOptions};
pub use set::{memory_tools, tools};
