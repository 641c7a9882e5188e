//! Reading files. Which ones is decided in `workspace` alone, with the list of `blocklist`.

mod blocklist;
mod lines;
mod read;
mod workspace;

pub(crate) use read::FileRead;
pub use workspace::{Opened, Workspace};
