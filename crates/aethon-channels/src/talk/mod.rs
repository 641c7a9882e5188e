//! What all platforms share: access, the handling of messages, and the delivery of replies.
//!
//! `platform` is the trait that a codec implements, `growth` one for growing messages, `messenger` the channel made
//! from them. `intake` receives messages, with `access`, `place`, `command` and `files`; `waiting` keeps those whose
//! files are being fetched, `speech` transcribes voice messages, and `wording` is what a model reads of it all.
//! `answering` knows what a message answers, `described` has sentences for what is not words, and `mention` finds where a message begins behind a mention.
//! `started_turns` knows who started which turn, `stream` shows a reply while it is written, `approval_prompts` asks
//! for approval, `acknowledgements` shows that a message is being answered, and `sending` delivers part by part. `outlet` and `budget` observe the rate limit of a chat, `rounds`
//! is the receive loop, `queue` runs futures in order, and `health` reports the health of the channel.

mod access;
mod acknowledgements;
mod answering;
mod approval_prompts;
mod budget;
mod command;
mod described;
mod files;
mod growth;
mod health;
mod intake;
mod mention;
mod messenger;
mod outlet;
mod place;
mod platform;
mod queue;
mod receiver;
mod rounds;
mod sending;
mod speech;
mod started_turns;
mod stream;
#[cfg(test)]
mod tests;
mod waiting;
mod wording;

pub(crate) use acknowledgements::EYES;
pub(crate) use answering::{Author, Original, newest_lines};
pub(crate) use budget::BURST_OF_ALL;
pub(crate) use described::{NO_WORDS, cannot_read, described, list, location, poll, shortened};
pub(crate) use growth::{AppendOnlyMessages, Asked};
pub(crate) use intake::Intake;
pub(crate) use mention::{after_mention, after_name, without_marks};
pub use messenger::Messenger;
#[cfg(test)]
pub(crate) use platform::AnsweredAuthor;
pub use platform::Check;
pub(crate) use platform::{
    Arrival, Button, Content, Dialect, Fault, Platform, Press, Reactions, RemoteFile, Sender,
};
pub(crate) use queue::OrderedFutures;
pub(crate) use receiver::Receiver;
pub(crate) use rounds::{Failure, ReceiveLoop, Stop, receive};
