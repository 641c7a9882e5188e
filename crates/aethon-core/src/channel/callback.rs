//! HTTP callbacks: calls that a platform makes when something happens there, as opposed to being polled.
//!
//! The HTTP application knows the URL and reads the bytes; only the channel knows their meaning and whether they come
//! from the platform.

use async_trait::async_trait;

use crate::error::Result;

/// The outcome of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// Its content is stored.
    Stored,
    /// It does not come from the platform. Nothing in it was processed.
    Forged,
    /// It comes from the platform but is unreadable.
    Malformed,
    /// Too much is waiting already; the platform should call again.
    Busy,
}

/// Handles the calls of a platform.
#[async_trait]
pub trait PlatformCalls: Send + Sync {
    /// Answers the platform's question whether the URL is ours, with these parameters. `None` if the platform has to
    /// prove its identity and does not.
    fn challenge(&self, parameters: &[(String, String)]) -> Option<String>;

    /// Accepts a call of the platform, with this signature. When this returns, the content is stored and will be
    /// processed.
    async fn take(&self, signature: &str, body: &[u8]) -> Result<CallbackOutcome>;
}
