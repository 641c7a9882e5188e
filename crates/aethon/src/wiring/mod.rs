//! Maps the configuration to each leaf's own options. The whole configuration meets the leaves only here.

pub(crate) mod agent;
pub(crate) mod changes;
pub(crate) mod channels;
pub(crate) mod deliveries;
pub(crate) mod embedding;
pub(crate) mod household;
pub(crate) mod http;
pub(crate) mod lsp;
#[cfg(feature = "email")]
mod mail;
mod mail_address;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod messenger_parts;
pub(crate) mod messengers;
pub(crate) mod model;
mod model_builder;
pub(crate) mod model_choices;
pub(crate) mod prices;
pub(crate) mod recorder;
pub(crate) mod sandbox;
mod specialist_roster;
pub(crate) mod specialists;
pub(crate) mod store;
pub(crate) mod store_check;
pub(crate) mod tool_options;
pub(crate) mod tools;
pub(crate) mod transcription;
pub(crate) mod unpriced;
pub(crate) mod verification;
pub(crate) mod web;
mod whatsapp;
pub(crate) mod work;
pub(crate) mod workflows;
