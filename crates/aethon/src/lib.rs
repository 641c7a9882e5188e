//! Aethon: an embeddable, self-hosted personal assistant.
//!
//! ```no_run
//! # async fn example() -> Result<(), aethon::Error> {
//! let assistant = aethon::Builder::new().home("/srv/assistant").set("model.provider=echo").load()?.open().await?;
//! let reply = assistant.ask("webchat:default", "Good morning").await?;
//! println!("{}", reply.text);
//! assistant.shutdown(std::time::Duration::from_secs(10)).await;
//! # Ok(())
//! # }
//! ```
//!
//! This crate is the only one that sees the whole configuration and all other crates. [`Builder`] collects the parts of an
//! assistant, [`Prepared`] is a checked configuration, [`Aethon`] a running assistant, and [`Service`] the daemon around it:
//! lock, listener, delivery. The shared vocabulary is in [`core`].

mod aethon;
mod answer;
mod arguments;
pub mod attack;
pub mod audit;
mod background;
pub mod backup;
mod builder;
mod channel_admin;
mod channel_setup;
mod channels;
mod check;
mod commands;
mod containers;
mod disk_finding;
pub mod doctor;
mod documents;
mod embedding;
mod error;
mod features;
mod file_changes;
mod file_copies;
mod finding;
mod first_model;
mod flags;
mod front;
mod harden;
mod holding;
mod home;
mod init;
mod left_out;
mod listed_models;
mod live_choices;
mod loading;
mod logging;
mod masked_audit;
mod mcp;
mod memory;
mod messengers;
mod model_health;
pub mod model_test;
pub mod models;
mod opening;
mod other_accounts;
mod peers;
mod places;
mod postgres;
mod preflight;
mod prepared;
mod push;
mod quota;
pub mod reach;
mod reload;
pub mod repair;
pub mod rows;
mod runtime;
mod sandbox_reach;
mod service;
mod session_ends;
mod setup_secret;
mod shared_recordings;
mod telemetry;
mod temporary;
mod transcription;
mod typed_answer;
pub mod upgrade;
mod upkeep;
mod uploads;
pub mod version;
mod view;
mod wiring;

pub use aethon_config as config;
pub use aethon_core as core;
pub use aethon_core::log::LogFormat;
pub use aethon_core::{async_trait, jiff};
pub use aethon_http::Body as HttpBody;
pub use aethon_http::json;
pub use aethon_http::mount::{Mount, PeerMount};
pub use aethon_http::ws::{attachment, frames_of};
pub use aethon_markdown as markdown;
pub use aethon_workflows::sop::{check_file as check_sop, files_of as sop_files};

pub use crate::aethon::Aethon;
pub use crate::answer::{Answer, Attendance};
pub use crate::arguments::without_secrets;
pub use crate::builder::Builder;
pub use crate::channel_admin::{ChannelTest, ConfiguredChannel};
pub use crate::documents::step;
pub use crate::error::{Error, Result};
pub use crate::harden::{check_address_space, harden_process};
pub use crate::home::{Home, HomeLock};
pub use crate::init::run_as_init;
pub use crate::listed_models::listed_models;
pub use crate::logging::{LogLevel, Logging, Stderr};
pub use crate::mcp::serve_mcp;
pub use crate::mcp::sign_in::McpSignIn;
pub use crate::prepared::Prepared;
pub use crate::reload::{Reload, Reloaded};
pub use crate::service::Service;
pub use crate::view::{config_keys, is_reloadable};

/// Has the blocks of the page for embedders compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
