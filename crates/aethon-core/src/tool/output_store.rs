//! Where output goes that is too long for a model, so that it can be read in pieces.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::SessionId;

/// Keeps long output for a while.
#[async_trait]
pub trait OutputStore: Send + Sync {
    /// Keeps this output of a call of the session. Returns the handle under which a tool of that session reads it, such as
    /// `output:1f2e…`.
    async fn keep(&self, session: &SessionId, text: &str) -> Result<String>;
}
