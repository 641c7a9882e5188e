//! The way to the assistant, whichever it is.

use aethon::core::approval::Answer;
use aethon::core::model::Effort;
use anyhow::Result;
use async_trait::async_trait;

use super::event::Told;

/// What a person can look up about the assistant.
#[async_trait]
pub(crate) trait Overview: Send {
    /// What there is of something: names and titles.
    async fn list(&mut self, what: Listing) -> Result<Vec<(String, String)>>;

    /// What the assistant can read and run here, a sentence each.
    async fn reach(&mut self) -> Result<Vec<String>>;
}

/// A way to the assistant.
#[async_trait]
pub(crate) trait Backend: Overview {
    /// What the assistant is and how it is reached, in a line.
    fn describe(&self) -> String;

    /// Goes to a session, `NAME` of `webchat:NAME`: what is said goes there, and what others say there is told.
    async fn enter(&mut self, session: &str) -> Result<()>;

    /// Says something in the session, perhaps with an effort of its own. Returns the turn that answers it where that is known
    /// at once; otherwise [`super::event::ChatEvent::Accepted`] tells it.
    async fn say(&mut self, text: &str, effort: Option<Effort>) -> Result<Option<String>>;

    /// The next thing that happens. The future may be dropped and asked for again; nothing is lost.
    async fn next(&mut self) -> Told;

    /// Passes on what the person wants.
    async fn tell(&mut self, wish: Wish) -> Result<()>;

    /// Leaves in order.
    async fn close(&mut self);
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The newest sessions.
    Sessions,
    /// The SOPs.
    Sops,
}

/// What a person may want of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// End this turn. Without one: what was said and has no turn yet, else whatever runs and waits in the session.
    Stop(Option<String>),
    /// The answer to a question.
    Decide {
        /// The question's id.
        id: String,
        /// The answer, with the arguments as the person changed them if they did.
        answer: Answer,
    },
}
