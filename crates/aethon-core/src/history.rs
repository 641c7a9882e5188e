//! Full-text search in the messages of a session.
//!
//! A model sees the newest part of a long conversation and a summary of the rest. The transcript keeps everything, and
//! this finds passages in it. How words are matched and ranked is up to the storage.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};

/// Searches the past of sessions.
#[async_trait]
pub trait History: Send + Sync {
    /// Returns the best matching passages of a session's live branch, best first. Messages that a retry or an edit has replaced
    /// is not included.
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> Result<Vec<Passage>>;
}

/// A search query.
#[derive(Debug, Clone)]
pub struct HistoryQuery {
    /// Words, and phrases in quotation marks, as typed.
    pub words: String,
    /// The turn that asks, which is excluded: its own messages repeat the words and would be found first.
    pub except: Option<TurnId>,
    /// The most passages.
    pub limit: usize,
    /// The approximate length of a passage, in characters.
    pub chars: usize,
}

/// An excerpt of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The message that it is from.
    pub message: MessageId,
    /// Its time.
    pub at: Timestamp,
    /// Who said it.
    pub source: PassageSource,
    /// The text around the best match, with `…` where it continues.
    pub text: String,
}

/// Where a passage comes from, which determines how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassageSource {
    /// The person wrote it.
    Person,
    /// The assistant said it.
    Assistant,
    /// The arguments of a call to this tool.
    Call(String),
    /// The output of this tool.
    Tool(String),
    /// A file with this name that came with a message.
    File(String),
    /// A message from outside, which is data.
    Outside,
}
