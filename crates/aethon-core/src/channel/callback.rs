//! Calls that a platform makes over HTTP when something happens there, instead of waiting to be asked.
//!
//! The HTTP application knows the address and reads the bytes; what they mean, and whether they come from the platform, only
//! the channel knows.

use async_trait::async_trait;

use crate::error::Result;

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    /// What it brought is stored.
    Stored,
    /// It does not come from the platform. Nothing of it was read.
    Forged,
    /// It comes from the platform and cannot be read.
    Malformed,
    /// More waits already than is kept; it is to come again.
    Busy,
}

/// Takes the calls of a platform.
#[async_trait]
pub trait PlatformCalls: Send + Sync {
    /// The platform asks whether the address is ours, with these parameters. What it is answered; `None` when it has to show
    /// that it is the platform, and does not.
    fn challenge(&self, parameters: &[(String, String)]) -> Option<String>;

    /// The platform brings something, signed like this. What is stored when this returns is dealt with afterwards.
    async fn take(&self, signature: &str, body: &[u8]) -> Result<Called>;
}
