//! Tells the owner what has changed of that which instructs the model: pages, SOPs, specialists, and what servers say of
//! their tools.
//!
//! Anybody's words in the model's ear may lead to a command that writes such a file; an editor or a `git pull` writes
//! one too. So what differs from what the owner was last told is named once, in the owner's next conversation.
//! `aethon_core::instructions` is what there is now, `known` the files that keep what the owner knows, `news` compares the two and finds
//! the words.

mod known;
mod news;

pub use news::{Changes, Sources};
