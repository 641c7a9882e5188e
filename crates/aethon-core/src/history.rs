//! Full-text search in conversations, for models and for people.
//!
//! A model sees the newest part of a long conversation and a summary of the rest. The transcript keeps everything, and
//! this finds passages in it. How words are matched and ranked is up to the storage. A person looks for a message in all
//! conversations, and reads on from there.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::ids::{MessageId, SessionId, TurnId};
use crate::message::{Message, Role};

/// Searches the past of sessions.
#[async_trait]
pub trait History: Send + Sync {
    /// Returns the best matching passages of a session's live branch, best first. Messages that a retry or an edit has replaced
    /// are not included.
    async fn search(&self, session: &SessionId, query: HistoryQuery) -> Result<Vec<Passage>>;

    /// Returns the messages of live branches that people and the assistant wrote and that contain all words, newest first. A word
    /// of the query stands for the beginning of a word; case and accents do not matter.
    async fn find(&self, query: MessageQuery) -> Result<MessageHits>;

    /// Returns messages of the live branch after this one, oldest first, within the same limits as
    /// [`messages`](crate::session::Transcripts::messages).
    async fn messages_after(
        &self,
        session: &SessionId,
        after: MessageId,
        limit: usize,
    ) -> Result<Vec<Message>>;

    /// Returns the turns of the live branch that have several versions, oldest first. A retry or an edit makes one.
    async fn versions(&self, session: &SessionId) -> Result<Vec<TurnVersions>>;

    /// Returns messages of the branches that retries and edits have put aside: branch by branch, each oldest first, from behind
    /// this one on, and within the same limits as [`messages`](crate::session::Transcripts::messages). A storage without versions
    /// has none.
    async fn aside(
        &self,
        _session: &SessionId,
        _after: Option<MessageId>,
        _limit: usize,
    ) -> Result<Vec<Aside>> {
        Ok(Vec::new())
    }

    /// Makes the branch of a version the live one; the one that was live is put aside as it is. Fails as not found if there is
    /// no such turn in the session or none of its versions is in the live branch, and as busy while a turn runs or waits.
    async fn switch(&self, session: &SessionId, turn: &TurnId) -> Result<()>;
}

/// The versions of a turn: several answers to a question, or several forms of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TurnVersions {
    /// The one in the live branch.
    pub turn: TurnId,
    /// All of them, oldest first.
    pub turns: Vec<TurnId>,
}

/// A message of a branch that is not live.
#[derive(Debug, Clone, PartialEq)]
pub struct Aside {
    /// The first message of the branch.
    pub branch: MessageId,
    /// The message.
    pub message: Message,
}

/// A history in which nothing is found, for a program that stores no conversations.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHistory;

#[async_trait]
impl History for NoHistory {
    async fn search(&self, _session: &SessionId, _query: HistoryQuery) -> Result<Vec<Passage>> {
        Ok(Vec::new())
    }

    async fn find(&self, _query: MessageQuery) -> Result<MessageHits> {
        Ok(MessageHits::default())
    }

    async fn messages_after(&self, _: &SessionId, _: MessageId, _: usize) -> Result<Vec<Message>> {
        Ok(Vec::new())
    }

    async fn versions(&self, _: &SessionId) -> Result<Vec<TurnVersions>> {
        Ok(Vec::new())
    }

    async fn switch(&self, _: &SessionId, turn: &TurnId) -> Result<()> {
        Err(Error::not_found(format!("there is no turn {turn} in this conversation")))
    }
}

/// A query for messages.
#[derive(Debug, Clone)]
pub struct MessageQuery {
    /// The words, as typed.
    pub words: String,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only older messages: where the previous page ended.
    pub before: Option<MessageId>,
    /// The most messages.
    pub limit: usize,
}

/// A page of found messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageHits {
    /// The messages, newest first.
    pub hits: Vec<MessageHit>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// A found message.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FoundMessage")]
pub struct MessageHit {
    /// Its session.
    pub session_id: SessionId,
    /// The title of the session.
    pub title: String,
    /// The message.
    pub message_id: MessageId,
    /// The turn that it belongs to.
    pub turn: Option<TurnId>,
    /// Its author.
    pub role: Role,
    /// When it was created.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// The text around the words, in pieces; together at most [`MAX_SNIPPET`] characters.
    pub snippet: Vec<SnippetPart>,
}

/// The maximum length of a snippet, in characters.
pub const MAX_SNIPPET: usize = 200;

/// A piece of a snippet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SnippetPart {
    /// The text.
    pub text: String,
    /// Whether it is one of the words looked for.
    pub hit: bool,
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
