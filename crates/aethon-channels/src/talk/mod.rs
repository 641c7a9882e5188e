//! What all platforms share: access, the handling of messages, and the delivery of replies.
//!
//! `platform` is the trait that a codec implements, `growth` one for growing messages, `messenger` the channel made
//! from them. `intake` receives messages, with `access`, `place`, `command`, `mention` and `files`; `act` knows which of them
//! belong together, `waiting` keeps those that wait for more or for their files, `submission` begins their turns, with the
//! text from `wording`, `begun` remembers their turns, and `edits` corrects them, by `corrections` if need be. `answering`
//! describes the answered message, `described` has sentences for things that are not words, `speech` transcribes voice
//! messages. `started_turns` knows who started which turn, `reply_gates` when its reply may be shown, `stream` shows a reply
//! while it is written, `acknowledgements` shows that a message is being answered, `approval_prompts` asks for approval, and
//! `sending` delivers part by part. `stopping` implements `/stop`. `outlet` and `budget` observe the rate limit of a chat,
//! `rounds` is the receive loop, `queue` runs futures in order, `health` reports the health of the channel, `gate` opens its way out again after outages and refusals,
//! `knocks` remembers who was not admitted, and `revoked` ends the turns of people who lost their access.

mod access;
mod acknowledgements;
mod act;
mod answering;
mod approval_prompts;
mod begun;
mod budget;
mod command;
mod corrections;
mod described;
mod edits;
mod files;
mod gate;
mod growing_reply;
mod growth;
mod health;
mod intake;
mod knocks;
mod mention;
mod messenger;
mod numbers;
mod outlet;
mod parts;
mod place;
mod platform;
mod queue;
mod receiver;
mod reply_gates;
mod revoked;
mod rounds;
mod sending;
mod showing;
mod speech;
mod started_turns;
mod stopping;
mod stream;
mod submission;
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
    Arrival, Button, Content, Dialect, Fault, Identity, Platform, Press, Reactions, RemoteFile, Sender,
};
pub(crate) use queue::OrderedFutures;
pub(crate) use receiver::Receiver;
pub(crate) use rounds::{Failure, ReceiveLoop, Stop, receive};
