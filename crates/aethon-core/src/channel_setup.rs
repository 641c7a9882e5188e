//! Sets up a messenger: tries what a person typed, and writes it once the platform accepts it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;

/// What a person has typed for a messenger.
#[derive(Debug, Clone, Default)]
pub struct ChannelWish {
    /// The messenger's name.
    pub name: String,
    /// Keys of its section of the configuration, with their values. Secrets are among them.
    pub settings: BTreeMap<String, Value>,
    /// People who may write, besides those who may already.
    pub allowed: Vec<String>,
}

/// One thing that was checked at the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChannelCheck {
    /// The name of the check.
    pub id: String,
    /// Whether it is in order.
    pub ok: bool,
    /// The finding.
    pub detail: String,
}

/// A messenger that was set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSetUp {
    /// What the platform said.
    pub checks: Vec<ChannelCheck>,
    /// Keys that count after a restart.
    pub needs_restart: Vec<String>,
    /// Things worth knowing.
    pub warnings: Vec<String>,
}

/// Why a messenger was not tried or set up.
#[derive(Debug, thiserror::Error)]
pub enum ChannelSetupRefusal {
    /// There is no messenger of this name.
    #[error("there is no such messenger")]
    Unknown,
    /// One of the settings, and its fault.
    #[error("{0}: {1}")]
    Field(String, String),
    /// The platform does not let it in.
    #[error("the platform refuses it")]
    Checks(Vec<ChannelCheck>),
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Tries messengers and sets them up: whoever calls it has checked that the person may do it.
#[async_trait]
pub trait ChannelSetup: Send + Sync {
    /// Asks the platform whether it lets the assistant in, with these settings on top of the present ones. Nothing is written, sent
    /// or received.
    async fn test(&self, wish: &ChannelWish) -> Result<Vec<ChannelCheck>, ChannelSetupRefusal>;

    /// Does the same, and if all is in order keeps the secrets as credentials, writes the rest into the configuration and turns the
    /// messenger on. Otherwise nothing is changed. `by` says who it is, for the audit log.
    async fn set_up(&self, wish: &ChannelWish, by: &str) -> Result<ChannelSetUp, ChannelSetupRefusal>;
}

/// Knows no messenger.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoChannelSetup;

#[async_trait]
impl ChannelSetup for NoChannelSetup {
    async fn test(&self, _wish: &ChannelWish) -> Result<Vec<ChannelCheck>, ChannelSetupRefusal> {
        Err(ChannelSetupRefusal::Unknown)
    }

    async fn set_up(&self, _wish: &ChannelWish, _by: &str) -> Result<ChannelSetUp, ChannelSetupRefusal> {
        Err(ChannelSetupRefusal::Unknown)
    }
}
