//! The owner's messengers: a codec for each platform, over common rules of who is heard and how a reply arrives.
//!
//! A platform knows its wire: how updates come, how a message is sent and edited. Everything else is the same for all and
//! stands in `talk`: who may write, pairing, commands, sessions, questions for approval, replies that grow before the
//! reader's eyes, parts that are settled one by one, one budget of calls for each chat. `text` turns a model's Markdown into
//! styled text, from which each platform writes its own form.
//!
//! Requests go through the core's `Exchange`, sockets through [`socket::Dial`], mail has connections of its own, and what is
//! remembered is in the core's `ChannelRecords`. The facade makes a [`Messenger`] of a platform, and runs it as a channel.

pub mod discord;
pub mod email;
pub mod matrix;
mod multipart;
mod options;
pub mod pairing;
mod rest;
pub mod slack;
pub mod socket;
mod talk;
pub mod telegram;
mod text;
pub mod whatsapp;

pub use options::{Member, Rules, Surroundings};
pub use talk::{Check, Messenger};
