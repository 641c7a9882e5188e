//! Where output that is too long for a model is kept, so that it can be read in pieces.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::SessionId;
use crate::turn::Trust;

/// Keeps long output for a while.
#[async_trait]
pub trait OutputStore: Send + Sync {
    /// Stores the output of a call of this session, in a turn of this trust. Returns the handle by which a tool of that
    /// session reads it, such as `output:1f2e…`.
    async fn keep(&self, session: &SessionId, trust: Trust, text: &str) -> Result<String>;
}
