//! Conversations as JSON, in the one form that the API, the sockets, the export and the terminal share.
//!
//! `message` has a message and its blocks, `conversation` the documents of `/api/sessions`, `bin` that of the bin, `commands`
//! commands in the background, `export` a whole conversation as a file, `file_changes` what tools did to files in one, `markdown`
//! the same for people, `deliveries` undelivered messages, `jobs` and `sops`
//! scheduled jobs and workflows, `recordings` recorded sessions, `memory` long-term memory. Everything that shows a
//! message uses these types, which leave out private data of providers and the engine.

mod bin;
mod commands;
mod conversation;
mod deliveries;
mod export;
mod file_changes;
mod jobs;
mod markdown;
mod memory;
mod message;
mod monitor;
mod recordings;
mod sops;

pub use bin::{Bin, InBin, bin, bin_cursor};
pub use commands::CommandList;
pub use conversation::{Conversation, FoundMessages, Listed, Page, Place, Shown, found_messages, list, show};
pub use deliveries::Deliveries;
pub use export::{Export, Format};
pub use file_changes::{FileChangeList, FilesAct, FilesPutBack, FilesRefusal, file_changes, put_files_back};
pub use jobs::{Jobs, ListedJob};
pub use markdown::{Transcript, transcript};
pub use memory::{MemoryList, MemoryNumbers, MemoryResults, memories, memory_numbers, memory_results};
pub use message::{Block, Message, Rendering};
pub(crate) use monitor::MAX_TEXT;
pub use monitor::{Wanted as WatchedWanted, Watched, watched};
pub use recordings::{
    BAD_RECORDING, ListedDocument, RecordedEvents, RecordingList, RecordingQuery, ShownRecording,
    SnapshotDifference, SnapshotState, Snapshots, VerifiedRecording, difference, recorded_events, recording,
    recordings, replay, snapshot, snapshots, verified,
};
pub(crate) use sops::LineFault;
pub use sops::{ListedSop, Sops};
