//! What all platforms share: access, the handling of messages, and the delivery of replies.
//!
//! `platform` is the trait that a codec implements, `growth` one for growing messages, `messenger` the channel made
//! from them. `intake` receives messages, with `access`, `place`, `command` and `files`; `act` knows which of them belong
//! together, `waiting` keeps those that wait for more or for their files, `submission` begins their turns, with what
//! `wording` makes of them, `begun` knows what became of them, and `edits` corrects them. `speech` transcribes voice
//! messages. `started_turns` knows who started which turn, `reply_gates` when its reply may be shown, `stream` shows a
//! reply while it is written, `approval_prompts` asks for approval, and `sending` delivers part by part. `outlet` and `budget` observe the rate limit of a chat, `rounds` is the receive loop, `queue` runs futures in
//! order, and `health` reports the health of the channel.

mod access;
mod act;
mod approval_prompts;
mod begun;
mod budget;
mod command;
#[allow(dead_code)]
mod described;
mod edits;
mod files;
mod growth;
mod health;
mod intake;
mod messenger;
mod outlet;
mod place;
mod platform;
mod queue;
mod receiver;
mod reply_gates;
mod rounds;
mod sending;
mod speech;
mod started_turns;
mod stream;
mod submission;
#[cfg(test)]
mod tests;
mod waiting;
mod wording;

pub(crate) use budget::BURST_OF_ALL;
pub(crate) use growth::{AppendOnlyMessages, Asked};
pub(crate) use intake::Intake;
pub use messenger::Messenger;
pub use platform::Check;
pub(crate) use platform::{Arrival, Button, Content, Dialect, Fault, Platform, Press, RemoteFile, Sender};
pub(crate) use queue::OrderedFutures;
pub(crate) use receiver::Receiver;
pub(crate) use rounds::{Failure, ReceiveLoop, Stop, receive};
