//! How people keep their conversations: what they have read of them.
//!
//! Part of [`Transcripts`](crate::session::Transcripts). The marks belong to the storage and not to a client, so that all
//! devices of a person agree.

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::SessionId;

/// Keeps what people do with whole conversations.
#[async_trait]
pub trait SessionKeeping: Send + Sync {
    /// Notes that a person has seen everything in a session so far. `false` if that was known before, or if there is no
    /// such session.
    async fn mark_read(&self, id: &SessionId) -> Result<bool>;
}
