//! The connection to the assistant, whether to a daemon or in this process.

use aethon::core::answer_schema::AnswerSchema;
use aethon::core::approval::Answer;
use aethon::core::model::Effort;
use anyhow::Result;
use async_trait::async_trait;
use serde_json::Value;

use super::event::BackendEvent;
use super::named_file::NamedFile;

/// Facts about the assistant that a user can look up.
#[async_trait]
pub(crate) trait Overview: Send {
    /// Lists names and titles.
    async fn list(&mut self, what: Listing) -> Result<Vec<(String, String)>>;

    /// Describes the assistant's reach: one sentence for each thing that it can read or run.
    async fn reach(&mut self) -> Result<Vec<String>>;

    /// Returns a document of the interface; null if there is none.
    async fn look_up(&mut self, what: LookUp) -> Result<Value>;

    /// Stops a command in the background of this conversation, and returns what became of it.
    async fn stop_command(&mut self, number: u32) -> Result<Value>;
}

/// What can be looked up, in the form of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// The newest messages of this conversation.
    Conversation,
    /// All of this conversation, as a text in Markdown or JSON.
    Export {
        /// Whether as JSON.
        as_json: bool,
    },
    /// The newest messages that contain these words, in all conversations.
    Messages(String),
    /// The files that tools have changed since the beginning of this turn.
    FileChanges(String),
    /// Today's usage.
    Usage,
    /// The commands in the background of this conversation.
    Commands,
}

/// A connection to the assistant.
#[async_trait]
pub(crate) trait Backend: Overview {
    /// Describes the assistant and the connection in one line.
    fn describe(&self) -> String;

    /// Enters the session `webchat:NAME`: messages go there, and the messages of others there are reported.
    async fn enter(&mut self, session: &str) -> Result<()>;

    /// Sends a message to the session. Returns the turn that answers it if that is known at once;
    /// otherwise [`super::event::ChatEvent::Accepted`] reports it.
    async fn say(&mut self, message: &OutgoingMessage) -> Result<Option<String>>;

    /// Waits for the next event. Cancel-safe: dropping the future loses nothing.
    async fn next(&mut self) -> BackendEvent;

    /// Passes on the user's request.
    async fn tell(&mut self, request: Request) -> Result<()>;

    /// Puts files back, and returns what happened to each in the form of the interface.
    async fn put_files(&mut self, wish: FilesWish) -> Result<Value>;

    /// Closes the connection in order.
    async fn close(&mut self);
}

/// What is wanted of changed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilesWish {
    /// That they become what they were before this turn.
    PutBack(String),
    /// That the last of these is undone.
    Redo,
}

/// A message of the user, with the wishes for its answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OutgoingMessage {
    /// The text.
    pub(crate) text: String,
    /// How much the model should think; the configured effort if absent.
    pub(crate) effort: Option<Effort>,
    /// The model that answers; the conversation's if absent.
    pub(crate) model: Option<String>,
    /// The JSON Schema that the answer has to fit.
    pub(crate) schema: Option<AnswerSchema>,
    /// The files that go with it.
    pub(crate) files: Vec<NamedFile>,
    /// The earlier message that it is about.
    pub(crate) earlier: Option<Earlier>,
}

/// An earlier message, by its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// It is answered again, and the text of this message does not count.
    Retried(String),
    /// This message replaces it.
    Replaced(String),
}

impl OutgoingMessage {
    /// A message without wishes.
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The newest sessions.
    Sessions,
    /// The SOPs.
    Sops,
    /// The models that may be chosen.
    Models,
    /// The commands that run in the background of this conversation, by their numbers.
    Commands,
}

/// A request of the user about a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Stop this turn. Without an id: messages not yet assigned to a turn, else everything running or queued in the session.
    Stop(Option<String>),
    /// Answer an approval request.
    Decide {
        /// The request's id.
        id: String,
        /// The answer, with the arguments if the user edited them.
        answer: Answer,
    },
    /// Note that the user has seen the session, so that no page shows it as unread.
    Read,
}
