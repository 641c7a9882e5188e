//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist, `time` tells the time, `files` reads files: only what [`Workspace`] lets through.

mod files;
mod options;
mod set;
mod time;

pub use files::{Opened, Workspace};
pub use options::Options;
pub use set::tools;
