//! The one door: everything that wants an answer goes through [`Assistant`].
//!
//! Chat, webhooks, jobs, the terminal and embedders use the same trait, so that dedupe, ordering, budget, hooks and
//! storage apply to all of them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use crate::delivery::NewDelivery;
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::message::{Attachment, Inbound, Reply};
use crate::session::Clear;
use crate::surface::Surface;

/// An assistant that answers messages.
#[async_trait]
pub trait Assistant: Send + Sync {
    /// Accepts a message. When this returns `Ok`, the message is stored and survives a crash. The turn continues even
    /// if the caller goes away.
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted>;

    /// Ends a turn (or, without one, all turns that run or wait in the session) within a second, keeping the text so far.
    /// Returns how many it ended.
    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize;

    /// Lists the turns that run or wait.
    fn activity(&self) -> Vec<ActiveTurn>;

    /// Returns whether a turn runs or waits in this session.
    fn is_busy(&self, session: &SessionId) -> bool;

    /// Stops what runs in a session, then empties or removes it. `false` if there is no such session.
    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool>;

    /// Puts a message of the assistant (a delivery, say) into a session without a turn. Posting with the same key again
    /// adds nothing and returns `false`. Fails as invalid if a file cannot be shown.
    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool>;
}

/// A message of the assistant that no turn of its session produced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Posting {
    /// The Markdown.
    pub text: String,
    /// The files attached to it.
    pub attachments: Vec<Attachment>,
    /// The source of outside content that it was made from, if any: the person gets a notice, and models see the text between
    /// outside-content markers.
    pub outside: Option<String>,
}

impl Posting {
    /// A text of the assistant's own.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The message for a delivery.
    pub fn of(content: &NewDelivery) -> Self {
        let NewDelivery { text, attachments, outside, .. } = content.clone();
        Self { text, attachments, outside }
    }
}

/// Asks one question and waits for the answer.
pub async fn ask(
    assistant: &dyn Assistant,
    inbound: Inbound,
    surface: Arc<dyn Surface>,
) -> Result<Arc<Reply>> {
    assistant.submit(inbound, surface).await?.reply.wait().await
}

/// A message that was accepted.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// Its turn.
    pub turn: TurnId,
    /// How many turns of its session come before it.
    pub queued: usize,
    /// Whether it is new; `false` for a duplicate delivery.
    pub is_new: bool,
    /// Its outcome, now or later.
    pub reply: PendingReply,
}

/// A reply that is available now or later.
#[derive(Debug, Clone)]
pub struct PendingReply(watch::Receiver<Option<Arc<Reply>>>);

impl PendingReply {
    /// Creates a pending reply, and the sender that fulfils it.
    pub fn pair() -> (watch::Sender<Option<Arc<Reply>>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// A reply that is already available.
    pub fn ready(reply: Arc<Reply>) -> Self {
        Self(watch::channel(Some(reply)).1)
    }

    /// Waits for the reply. Fails if the program shuts down before the turn has ended; the message is stored all the
    /// same.
    pub async fn wait(mut self) -> Result<Arc<Reply>> {
        match self.0.wait_for(Option::is_some).await {
            Ok(reply) => reply.clone().ok_or_else(Error::shutting_down),
            Err(_) => Err(Error::shutting_down()),
        }
    }
}

/// A turn that runs or waits.
#[derive(Debug, Clone, Serialize)]
pub struct ActiveTurn {
    /// Its session.
    pub session_id: SessionId,
    /// Its id.
    pub turn: TurnId,
    /// `running` or `queued`.
    pub state: &'static str,
    /// Since when it runs or waits.
    #[serde(serialize_with = "crate::time::serialize")]
    pub since: Timestamp,
}
