//! Who may write through a messenger because the owner let them in by a code.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::error::{Error, Result};

/// A code for somebody to be paired with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairingCode {
    /// The code.
    pub code: String,
    /// When it counts no more.
    #[serde(serialize_with = "crate::time::serialize")]
    pub expires_at: Timestamp,
}

/// Somebody who was paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairedSender {
    /// With which channel.
    pub channel: String,
    /// By which id.
    pub sender: String,
}

/// The pairings of all messengers.
#[async_trait]
pub trait Pairings: Send + Sync {
    /// Makes a code that pairs whoever sends it to this messenger.
    ///
    /// # Errors
    ///
    /// There is no messenger of this name, or the storage fails.
    async fn invite(&self, channel: &str) -> Result<PairingCode>;

    /// Who was paired.
    async fn paired(&self) -> Result<Vec<PairedSender>>;

    /// Confirms the request with this code. `None` when no request has it.
    async fn approve(&self, code: &str) -> Result<Option<PairedSender>>;

    /// Takes a pairing back. `false` when there was none.
    async fn revoke(&self, channel: &str, sender: &str) -> Result<bool>;
}

/// No messenger, and so nobody to be paired: for embedders and tests that have none.
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
