//! The tools that work on files. `workspace` alone decides which files may be accessed, with the list of `blocklist`; the
//! single steps of opening are those of `aethon_files`. `writable` is a location that may be written, `later` and `git` know
//! what must not be written because it acts later, `kept_write` writes and keeps what was there before, `put_back` takes such changes
//! back and `put_back_news` tells the model of it, `walk` traverses folders, `alike` finds names that look like one that is missing. `replacement` and `diff` compute changes, `lines`
//! and `search` read text. The tools themselves are `read`, `write`, `edit`, `list`, `find` and `map` (over `outline`).

mod alike;
mod background;
mod blocklist;
mod diff;
mod edit;
mod find;
mod git;
mod kept_write;
mod later;
mod lines;
mod list;
mod map;
mod outline;
mod paths;
mod put_back;
mod put_back_news;
mod read;
mod replacement;
mod search;
mod walk;
mod workspace;
mod writable;
mod write;

pub(crate) use edit::FileEdit;
pub(crate) use find::FileSearch;
pub(crate) use git::{OF_REPOSITORIES, makes_repository};
pub(crate) use list::FileList;
pub(crate) use map::RepoMap;
pub(crate) use paths::{lexical, real};
pub use put_back::ChangedFiles;
pub use put_back_news::PutBackNews;
pub(crate) use read::FileRead;
pub use workspace::{Opened, Workspace};
pub(crate) use write::FileWrite;
