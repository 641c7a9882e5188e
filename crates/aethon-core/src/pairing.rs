//! Who may write through a messenger because the owner has paired them with a code.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// A pairing code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PairingCode {
    /// The code.
    pub code: String,
    /// When it expires.
    #[serde(serialize_with = "crate::time::serialize")]
    pub expires_at: Timestamp,
}

/// A paired sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Pairing")]
pub struct PairedSender {
    /// The channel.
    pub channel: String,
    /// Their id there.
    pub sender: String,
}

/// The pairings of all messengers.
#[async_trait]
pub trait Pairings: Send + Sync {
    /// Creates a code that pairs the person who sends it to this messenger.
    ///
    /// # Errors
    ///
    /// There is no messenger with this name, or the storage fails.
    async fn invite(&self, channel: &str) -> Result<PairingCode>;

    /// Lists the paired senders.
    async fn paired(&self) -> Result<Vec<PairedSender>>;

    /// Confirms the request with this code. `None` if there is none.
    async fn approve(&self, code: &str) -> Result<Option<PairedSender>>;

    /// Revokes a pairing. `false` if there was none.
    async fn revoke(&self, channel: &str, sender: &str) -> Result<bool>;
}

/// No messengers and so no pairings, for embedders and tests that have none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPairings;

#[async_trait]
impl Pairings for NoPairings {
    async fn invite(&self, channel: &str) -> Result<PairingCode> {
        Err(Error::not_found(format!("there is no messenger {channel:?}")))
    }

    async fn paired(&self) -> Result<Vec<PairedSender>> {
        Ok(Vec::new())
    }

    async fn approve(&self, _code: &str) -> Result<Option<PairedSender>> {
        Ok(None)
    }

    async fn revoke(&self, _channel: &str, _sender: &str) -> Result<bool> {
        Ok(false)
    }
}
