//! The vocabulary and traits of the Aethon assistant.
//!
//! Everything that two parts of the program say to each other is defined here, and nothing here does anything: no file,
//! no socket, no task. A leaf crate (storage, providers, tools, the engine, HTTP) depends on this crate and on no other
//! leaf; the facade `aethon` wires them together.
//!
//! A message takes this path: an [`message::Inbound`] enters by [`assistant::Assistant::submit`], is stored by
//! [`session::TurnLog::accept`], becomes [`model::ModelRequest`]s to a [`model::ModelProvider`] and
//! [`message::ToolCall`]s to a [`tool::Toolbox`] under every [`hook::Hook`], is shown on a [`surface::Surface`] as
//! [`surface::TurnEvent`]s, and ends as a [`message::Reply`] stored by [`session::TurnLog::finish`].

pub mod agents;
pub mod answer_schema;
pub mod approval;
pub mod assistant;
pub mod audit;
pub mod background;
pub mod backup;
pub mod channel;
pub mod channel_setup;
pub mod clock;
mod delivery;
pub mod document;
mod effort;
pub mod egress;
pub mod embed;
pub mod error;
pub mod event;
pub mod exchange;
pub mod failure;
pub mod feature;
pub mod file_changes;
pub mod file_copies;
pub mod finding;
pub mod header_value;
pub mod history;
pub mod hook;
pub mod ids;
pub mod import;
mod inbound;
pub mod instance;
pub mod instructions;
pub mod learned;
pub mod ledger;
pub mod live;
pub mod log;
pub mod memory;
pub mod message;
pub mod messenger;
pub mod model;
pub mod model_choice;
mod model_error;
pub mod model_setup;
pub mod multipart;
mod opaque;
pub mod order;
pub mod owner;
pub mod pairing;
pub mod patience;
pub mod peers;
pub mod person;
pub mod program;
pub mod prompts;
pub mod provider;
pub mod push;
pub mod recording;
pub mod reported;
pub mod sandbox;
pub mod schedule;
pub mod secret;
pub mod service;
pub mod session;
mod session_keeping;
mod session_settings;
mod session_summary;
pub mod shaping;
pub mod share;
pub mod shutdown;
pub mod sop;
pub mod storage;
pub mod storage_log;
pub mod surface;
pub mod telemetry;
#[cfg(feature = "testkit")]
pub mod testkit;
pub mod time;
mod token_usage;
pub mod tool;
pub mod transcribe;
mod trust;
pub mod turn;
pub mod untrusted;
pub mod upload;
pub mod usage;
pub mod version;
pub mod visible;
pub mod volatile;
pub mod web_search;
pub mod weight;
mod words;
pub mod work;

// Part of the interface: implementors of this crate's traits need the same versions.
pub use {async_trait, jiff, schemars, serde_json};
