//! Looking something up in what was said in a session.
//!
//! A model sees the newest part of a long conversation, and a summary of the rest. The transcript keeps all of it, and
//! this finds a passage in it again. How words are matched and ranked is the storage's business.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};

/// The searchable past of the sessions.
#[async_trait]
pub trait History: Send + Sync {
    /// The passages of a session's live branch that match best, the best first. Nothing that was replaced by a retry or
    /// an edit is among them.
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> Result<Vec<Passage>>;
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct HistoryQuery {
    /// Words, and phrases in quotation marks, as somebody types them.
    pub words: String,
    /// The turn that asks: its own messages repeat the words and would be found first.
    pub except: Option<TurnId>,
    /// The most passages.
    pub limit: usize,
    /// About how many characters a passage has.
    pub chars: usize,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The message that it is from.
    pub message: MessageId,
    /// When that was said.
    pub at: Timestamp,
    /// Who said it.
    pub source: PassageSource,
    /// The words round the best match; `…` stands where the text goes on.
    pub text: String,
}

/// Where the text of a passage comes from, which decides how far it can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassageSource {
    /// The person wrote it.
    Person,
    /// The assistant said it.
    Assistant,
    /// The assistant called the tool of this name with it.
    Call(String),
    /// The tool of this name answered it.
    Tool(String),
    /// It stands in a file of this name that came with a message.
    File(String),
    /// It came with a message from outside, and is data.
    Outside,
}
