//! What files were before tools changed them, kept for a while under the home, so that the owner can take the changes back.
//!
//! `record` is one change with the earlier content, `journal` the folder of them, `room` its limits, `keeper` what a tool call
//! hands a change to, and `chain` decides from the records of a file, newest first, which of them can be taken back. Nothing here
//! touches the files themselves: that is `files::put_back`.

mod chain;
mod journal;
mod keeper;
mod record;
mod room;

pub(crate) use chain::{Step, walk};
pub use journal::ChangeJournal;
pub(crate) use journal::{Written, blocking};
pub(crate) use keeper::Keeper;
pub(crate) use record::{Act, Content, Earlier, FileState, Head, Record, RecordName};
