//! The way to the assistant, whichever it is.

use aethon::Prepared;
use anyhow::Result;
use async_trait::async_trait;
use serde_json::Value;

use super::{local::Local, remote::Remote};
use crate::daemon::Daemon;

/// What a turn shows, as the terminal needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChatEvent {
    /// More of the reply.
    Text(String),
    /// A tool call changed its state.
    Tool {
        /// The tool.
        name: String,
        /// `running`, `ok`, `error` or `denied`.
        state: String,
        /// The arguments, while it runs.
        input: Option<Value>,
        /// The result, at its end.
        output: Option<String>,
    },
    /// Somebody must decide.
    Approval {
        /// The question's id.
        id: String,
        /// The tool.
        tool: String,
        /// The exact arguments.
        input: Value,
        /// What would happen.
        summary: String,
    },
    /// The question is settled, here or elsewhere.
    ApprovalDone {
        /// The question's id.
        id: String,
        /// Why: `user`, `timeout` or `stopped`.
        reason: String,
    },
    /// Something the person should know.
    Notice(String),
    /// Something went wrong.
    Error(String),
    /// The turn is over.
    Done(Outcome),
    /// The way to the assistant broke.
    Lost(String),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// The whole reply.
    pub(crate) text: String,
    /// `end`, `stopped`, `limit`, `budget` or `error`.
    pub(crate) stop_reason: String,
    /// The model that answered.
    pub(crate) model: String,
}

/// A way to the assistant.
#[async_trait]
pub(crate) trait Backend: Send {
    /// What the assistant is and how it is reached, in a line.
    fn describe(&self) -> String;

    /// Says something in a session, `NAME` of `webchat:NAME`.
    async fn say(&mut self, session: &str, text: &str) -> Result<()>;

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

/// The running daemon of this home (or the one named), else an assistant in this process.
pub(crate) async fn open(prepared: Prepared, daemon: Option<Daemon>) -> Result<Box<dyn Backend>> {
    match daemon {
        Some(daemon) => Ok(Box::new(Remote::connect(daemon).await?)),
        None => Ok(Box::new(Local::open(prepared).await?)),
    }
}

/// What is said when older messages were folded into a summary.
pub(crate) fn folded(messages: u64) -> String {
    let were = if messages == 1 { "older message was" } else { "older messages were" };
    format!("{messages} {were} summarised for the model; the conversation keeps them")
}
