//! The commands, one file each.

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod channels;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
mod config_effect;
mod config_reference;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod mcp;
pub(crate) mod mcp_sign_in;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod models;
pub(crate) mod outbox;
pub(crate) mod package_files;
pub(crate) mod pair_phone;
mod passphrase;
mod progress;
pub(crate) mod recordings;
pub(crate) mod restore;
pub(crate) mod secrets;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod sop;
mod source;
pub(crate) mod storage;
pub(crate) mod tasks;
mod terminal;
mod trail;
pub(crate) mod upgrade;
pub(crate) mod usage;

pub(crate) use terminal::{confirm, print, print_json, refuse_connect};
pub(crate) use trail::{note, told};
