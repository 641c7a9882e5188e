//! HTTP callbacks: calls that a platform makes when something happens there, as opposed to being polled.
//!
//! The HTTP application reads the bytes; only the channel knows at which path its platform calls, what the bytes mean and
//! whether they come from the platform.

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

/// How a platform calls: its protocol, as far as the HTTP application has to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTerms {
    /// The path that it calls, below `/webhook/`.
    pub path: &'static str,
    /// The header that carries its signature, in lower case.
    pub signature_header: &'static str,
    /// The answer to a call without a valid signature.
    pub bad_signature: &'static str,
    /// The answer to a question whether the URL is ours that does not prove who asks.
    pub bad_challenge: &'static str,
}

/// Handles the calls of a platform.
#[async_trait]
pub trait PlatformCalls: Send + Sync {
    /// How the platform calls.
    fn terms(&self) -> CallTerms;

    /// Answers the platform's question whether the URL is ours, with these parameters. `None` if the platform has to
    /// prove its identity and does not.
    fn challenge(&self, parameters: &[(String, String)]) -> Option<String>;

    /// Accepts a call of the platform, with this signature. When this returns, the content is stored and will be
    /// processed.
    async fn take(&self, signature: &str, body: &[u8]) -> Result<CallbackOutcome>;
}
