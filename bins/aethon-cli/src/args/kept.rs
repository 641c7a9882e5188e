//! The commands for what the home keeps: conversations, memories and recordings.

use clap::{Subcommand, ValueEnum};

use super::count::count;
use crate::completion;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first.
    List {
        /// List only sessions that contain these words.
        #[arg(long, short)]
        query: Option<String>,
        /// The number of sessions to list.
        #[arg(long, default_value_t = 20, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Find messages that contain all the words, newest first.
    Search {
        /// The words; each may be the beginning of a word.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only in this session.
        #[arg(long, short, add = completion::sessions())]
        session: Option<String>,
        /// The number of messages to list.
        #[arg(long, default_value_t = 20, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a session's messages.
    Show {
        /// Its id, such as webchat:default.
        #[arg(add = completion::sessions())]
        id: String,
        /// The number of messages to print, counted from the newest.
        #[arg(long, default_value_t = 50, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a whole session.
    Export {
        /// Its id.
        #[arg(add = completion::sessions())]
        id: String,
        /// The format of the export.
        #[arg(long, default_value = "markdown")]
        format: ExportForm,
        /// Add the versions of answers and questions that retries and edits have put aside.
        #[arg(long)]
        versions: bool,
    },
    /// Move a session and its messages to the bin.
    Rm {
        /// Its id.
        #[arg(add = completion::sessions())]
        id: String,
        /// Delete it for good, and whatever of this id lies in the bin.
        #[arg(long)]
        now: bool,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// List the sessions in the bin, last deleted first.
    Bin {
        /// Delete all of them for good.
        #[arg(long)]
        empty: bool,
        /// The number of sessions to list.
        #[arg(long, default_value_t = 50, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Take a session out of the bin: the one that was deleted last, if several had the id.
    Restore {
        /// Its id, as `sessions bin` lists it.
        id: String,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List memories, the ones that were changed last first.
    List {
        /// List only memories that contain these words.
        #[arg(long, short)]
        query: Option<String>,
        /// List only memories of this category.
        #[arg(long, short)]
        category: Option<String>,
        /// List only memories of this person: `owner`, `shared` or a name of the household.
        #[arg(long)]
        scope: Option<String>,
        /// The number of memories to list.
        #[arg(long, default_value_t = 50, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Find the memories that fit a question, the best match first.
    Search {
        /// The question, or words.
        query: String,
        /// The number of memories to show.
        #[arg(long, default_value_t = 10)]
        top_k: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a memory and its earlier versions.
    Show {
        /// Its id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remember something. What says the same already is not added again.
    Add {
        /// The text to remember; `-` reads it from standard input.
        text: String,
        /// The category to file it under [default: general].
        #[arg(long, short)]
        category: Option<String>,
        /// Whose memory it is: `owner`, `shared` or a name of the household [default: owner].
        #[arg(long)]
        scope: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a memory and its history.
    Rm {
        /// Its id.
        id: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RecordingsCommand {
    /// List the recordings, newest first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a recording: its session, its snapshots and its events.
    Show {
        /// Its name.
        #[arg(add = completion::recordings())]
        name: String,
        /// Show the state at this snapshot instead.
        #[arg(long, short, value_name = "N")]
        snapshot: Option<u64>,
        /// The number of events to show.
        #[arg(long, default_value_t = 50, value_parser = count(), allow_negative_numbers = true)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a recording: every sum, every event, every snapshot. The exit status is 1 if it is refused.
    Verify {
        /// Its name.
        #[arg(add = completion::recordings())]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a new session that holds the conversation as it was at a snapshot.
    Resume {
        /// The name of the recording.
        #[arg(add = completion::recordings())]
        name: String,
        /// The number of the snapshot [default: the last one].
        snapshot: Option<u64>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// For people.
    Markdown,
    /// For programs.
    Json,
}
