//! Reports changes of the model's instructions to the owner: pages, SOPs, specialists, and the tool descriptions of
//! servers.
//!
//! Text from any source that the model reads may lead to a command that writes such a file; an editor or a `git pull`
//! writes one too. So every difference from the last report is named once, in the owner's next conversation.
//! `aethon_core::instructions` reads the current state, `known` keeps the files with the state that the owner knows,
//! and `news` compares the two and words the report.
//! the words.

mod known;
mod news;

pub use news::{Changes, Sources};
