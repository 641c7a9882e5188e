//! The owner's messengers: a codec for each platform, over common rules on who may write and how a reply arrives.
//!
//! A platform knows its wire format: how updates arrive, how a message is sent and edited. Everything else is shared
//! and lives in `talk`: access, pairing, commands, sessions, approval prompts, replies that grow as they are written,
//! per-part delivery, and a rate budget for each chat. `text` converts a model's Markdown to styled text, from which
//! each platform produces its own format.
//!
//! Requests go through the core's `Exchange`, and sockets through [`socket::Dial`]; mail has its own connections.
//! State is stored in the core's `ChannelRecords`. The facade turns a platform into a [`Messenger`] and runs it as a
//! channel.

// What several messengers share may be unused where some of them are left out.
#![cfg_attr(
    not(all(feature = "discord", feature = "email", feature = "slack")),
    allow(dead_code, unused_imports, reason = "it is used by messengers that are left out")
)]

mod digest;
#[cfg(feature = "discord")]
pub mod discord;
#[cfg(feature = "email")]
pub mod email;
pub mod matrix;
mod multipart;
mod options;
pub mod pairing;
mod rest;
#[cfg(feature = "slack")]
pub mod slack;
#[cfg(feature = "sockets")]
pub mod socket;
mod talk;
pub mod telegram;
mod text;
pub mod whatsapp;

pub use options::{ChannelServices, Member, Rules};
pub use talk::{Check, Messenger};
