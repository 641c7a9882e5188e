//! What all platforms share: access, the handling of messages, and the delivery of replies.
//!
//! `platform` is the trait that a codec implements, `growth` one for growing messages, `messenger` the channel made
//! from them. `intake` receives messages, with `access`, `place`, `command` and `files`; `waiting` keeps those whose
//! files are being fetched, and `speech` transcribes voice messages. `started_turns` knows who started which turn,
//! `stream` shows a reply while it is written, `approval_prompts` asks for approval, and `sending` delivers part by
//! part. `outlet` and `budget` observe the rate limit of a chat, `rounds` is the receive loop, `queue` runs futures in
//! order, `health` reports the health of the channel, `gate` opens its way out again after outages and refusals, and `knocks`
//! remembers who was not admitted. `revoked` ends the turns of people who lost their access.

mod access;
mod approval_prompts;
mod budget;
mod command;
mod files;
mod gate;
mod growth;
mod health;
mod intake;
mod knocks;
mod messenger;
mod numbers;
mod outlet;
mod place;
mod platform;
mod queue;
mod receiver;
mod revoked;
mod rounds;
mod sending;
mod speech;
mod started_turns;
mod stream;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use budget::BURST_OF_ALL;
pub(crate) use growth::{AppendOnlyMessages, Asked};
pub(crate) use intake::Intake;
pub use messenger::Messenger;
pub use platform::Check;
pub(crate) use platform::{Arrival, Button, Content, Dialect, Fault, Platform, Press, RemoteFile, Sender};
pub(crate) use queue::OrderedFutures;
pub(crate) use receiver::Receiver;
pub(crate) use rounds::{Failure, ReceiveLoop, Stop, receive};
