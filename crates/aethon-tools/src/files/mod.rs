//! The tools that work on files. Which files is decided in `workspace` alone, with the list of `blocklist`: `beneath` opens
//! step by step, `writable` is a place that may be written, `git` knows where nothing is written, `walk` goes through folders. `replacement` and `diff` know what a
//! change is, `lines`, `search` and `pdf` get at the text of a file. The tools themselves are `read`, `write`, `edit`, `list`
//! and `find`.

mod background;
mod beneath;
mod blocklist;
mod diff;
mod edit;
mod find;
mod git;
mod lines;
mod list;
mod map;
mod outline;
mod paths;
mod read;
mod replacement;
mod search;
mod walk;
mod workspace;
mod writable;
mod write;

pub(crate) use edit::FileEdit;
pub(crate) use find::FileSearch;
pub(crate) use list::FileList;
pub(crate) use map::RepoMap;
pub(crate) use paths::real;
pub(crate) use read::FileRead;
pub use workspace::{Opened, Workspace};
pub(crate) use write::FileWrite;
