//! The way to the assistant, whichever it is.

use aethon::core::model::Effort;
use anyhow::Result;
use async_trait::async_trait;

use super::event::ChatEvent;

/// A way to the assistant.
#[async_trait]
pub(crate) trait Backend: Send {
    /// What the assistant is and how it is reached, in a line.
    fn describe(&self) -> String;

    /// Says something in a session, `NAME` of `webchat:NAME`, perhaps with an effort of its own.
    async fn say(&mut self, session: &str, text: &str, effort: Option<Effort>) -> Result<()>;

    /// The next thing that happens.
    async fn next(&mut self) -> ChatEvent;

    /// Ends the running turn of a session.
    async fn stop(&mut self, session: &str) -> Result<()>;

    /// Answers a question.
    async fn decide(&mut self, id: &str, approve: bool) -> Result<()>;

    /// The newest sessions: id and title.
    async fn sessions(&mut self) -> Result<Vec<(String, String)>>;

    /// Leaves in order.
    async fn close(&mut self);
}
