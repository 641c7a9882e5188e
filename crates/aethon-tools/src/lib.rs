//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist and has the small ones, `conversation` looks into what was said, `files` reads files: only
//! what [`Workspace`] lets through, `shell` runs commands, and makes sure that everything they start ends. `confine` is the
//! walls round whatever is started, and `places` the list of what is closed.

mod confine;
mod conversation;
mod files;
mod options;
mod outputs;
mod pdf;
mod places;
mod set;
mod shell;

pub use confine::{Confinement, Protection};
pub use files::{Opened, Workspace};
pub use outputs::KeptOutputs;
pub use options::{Options, ShellOptions};
pub use set::{Absence, Needs, ToolSet, sets, tools};
