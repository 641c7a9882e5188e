//! What is the same on every platform: who is heard, what a message becomes, and how a reply arrives.
//!
//! `platform` is the trait that a codec implements, `growth` one for messages that grow, `messenger` the channel made of one. `door` takes messages in (with
//! `access`, `place`, `command` and `files`; `waiting` keeps those whose files are being fetched, `speech` has voice messages written down), `running` knows who has brought what about, `stream` shows a reply while it is written, `question` asks for approval, `sending` delivers
//! part by part, `outlet` and `budget` keep to the pace of a chat, `rounds` receives again and again,
//! `queue` takes in one thing after the other, `standing` tells how the channel does.

mod access;
mod budget;
mod command;
mod door;
mod files;
mod growth;
mod messenger;
mod outlet;
mod place;
mod platform;
mod question;
mod queue;
mod rounds;
mod running;
mod sending;
mod speech;
mod standing;
mod stream;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use budget::BURST_OF_ALL;
pub(crate) use door::Door;
pub(crate) use growth::{Asked, Growth};
pub use messenger::Messenger;
pub use platform::Check;
pub(crate) use platform::{Arrival, Button, Content, Dialect, Fault, Offer, Platform, Press, Sender};
pub(crate) use queue::InOrder;
pub(crate) use rounds::{Failure, Rounds, Stop, receive};
