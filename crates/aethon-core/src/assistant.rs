//! The one door: everything that wants an answer goes through [`Assistant`].
//!
//! Chat, webhooks, jobs, the terminal and embedders use the same trait, so that dedupe, order, budget, hooks and storage
//! hold for all of them.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use crate::channel::NewDelivery;
use crate::error::{Error, Result};
use crate::ids::{SessionId, TurnId};
use crate::message::{Attachment, Inbound, Reply};
use crate::session::Clear;
use crate::surface::Surface;

/// An assistant that answers.
#[async_trait]
pub trait Assistant: Send + Sync {
    /// Takes a message in. When this returns `Ok`, the message is stored and survives a crash. The turn goes on when the
    /// caller loses interest.
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted>;

    /// Ends a turn (or, without one, all turns that run or wait in the session) within a second, keeping what was said.
    /// Returns how many it ended.
    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize;

    /// The turns that run or wait now.
    fn activity(&self) -> Vec<ActiveTurn>;

    /// Whether a turn runs or waits in this session.
    fn is_busy(&self, session: &SessionId) -> bool;

    /// Stops what runs in a session, then empties or removes it. `false` when there is no such session.
    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool>;

    /// Puts a message of the assistant into a session without a turn (a delivery, say). The same key twice is one
    /// message; `false` then. Errs with an invalid request when a file cannot be shown.
    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool>;
}

/// A message of the assistant that no turn of its session made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Posting {
    /// The Markdown.
    pub text: String,
    /// Files that go with it.
    pub attachments: Vec<Attachment>,
    /// Where the content came from that it was made of, if any of it came from outside: the person is told, and models see
    /// the text between the markers of such content.
    pub outside: Option<String>,
}

impl Posting {
    /// A text of the assistant's own.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What a delivery brings.
    pub fn of(content: &NewDelivery) -> Self {
        let NewDelivery { text, attachments, outside, .. } = content.clone();
        Self { text, attachments, outside }
    }
}

/// The convenient way for one question and one answer.
pub async fn ask(
    assistant: &dyn Assistant,
    inbound: Inbound,
    surface: Arc<dyn Surface>,
) -> Result<Arc<Reply>> {
    assistant.submit(inbound, surface).await?.reply.wait().await
}

/// A message that was taken in.
#[derive(Debug, Clone)]
pub struct Submitted {
    /// Its turn.
    pub turn: TurnId,
    /// How many turns of its session come before it.
    pub queued: usize,
    /// Whether it is new; `false` for a second delivery.
    pub is_new: bool,
    /// Its outcome.
    pub reply: PendingReply,
}

/// A reply that is there or will be.
#[derive(Debug, Clone)]
pub struct PendingReply(watch::Receiver<Option<Arc<Reply>>>);

impl PendingReply {
    /// A reply to come, and what fulfils it.
    pub fn pair() -> (watch::Sender<Option<Arc<Reply>>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// A reply that is there.
    pub fn ready(reply: Arc<Reply>) -> Self {
        Self(watch::channel(Some(reply)).1)
    }

    /// Waits for it. Errs when the program stops before the turn has ended; the message is stored all the same.
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
    /// Since when.
    #[serde(serialize_with = "crate::time::serialize")]
    pub since: Timestamp,
}
