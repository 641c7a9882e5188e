//! What a platform's codec does, and the words that it shares with the common parts.

use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::message::Attachment;
use aethon_core::shutdown::Shutdown;
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::door::Door;
use crate::text::{Fit, RichFit, Styled};

/// A messenger's wire.
#[async_trait]
pub(crate) trait Platform: Send + Sync {
    /// What it takes.
    fn dialect(&self) -> Dialect;

    /// Receives until the program stops, and hands everything to the door. What the door has taken is stored, so only then
    /// may the platform be told that it has arrived.
    async fn receive(&self, door: &Door, shutdown: Shutdown) -> Result<()>;

    /// Sends something to a chat. The key is the same for every attempt at the same thing, for platforms that know such
    /// keys. Returns the id of the message.
    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> Result<String, Fault>;

    /// Puts something else in the place of a message. What was shown before is no failure.
    async fn edit(&self, chat: &str, message: &str, content: Content<'_>) -> Result<(), Fault>;

    /// Shows for some seconds that an answer is written.
    async fn typing(&self, chat: &str) -> Result<(), Fault>;

    /// Fetches a file that came with a message, which the door has let in by then; perhaps the program has even started again.
    async fn fetch(&self, file: &Offer) -> Result<Vec<u8>, Fault>;

    /// Looks whether the platform lets us in, without sending or taking anything.
    async fn inspect(&self) -> Vec<Check>;
}

/// What a platform takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// What a message may have at most.
    pub(crate) fit: Fit,
    /// How far apart what is sent to this chat has to be.
    pub(crate) pace: fn(&str) -> Duration,
    /// How far apart everything is that is sent, to whomever; nothing where each chat counts by itself.
    pub(crate) pace_of_all: Duration,
    /// Whether the same key is never sent twice, so that a doubtful attempt may simply be repeated.
    pub(crate) sends_once: bool,
    /// Whether messages can be edited.
    pub(crate) edits: bool,
    /// Whether messages have buttons.
    pub(crate) buttons: bool,
    /// Whether somebody there can answer a question while a turn waits. Where nobody can, what needs approval is denied.
    pub(crate) is_attended: bool,
    /// How much of files goes with a text in one message, in base64; `None` where each file is a message of its own.
    pub(crate) attaches: Option<usize>,
    /// Whether a reply that grows is shown in this chat by drafts, which fade by themselves, and not by edits of a message.
    pub(crate) drafts: fn(&str) -> bool,
    /// What a message may have at most that shows headings and tables; `None` where there is none.
    pub(crate) rich: Option<RichFit>,
    /// Whether this chat holds others, whose names begin with its own and a colon.
    pub(crate) has_threads: fn(&str) -> bool,
    /// Whether the files of a message that quotes others are theirs most likely, as in a mail that is passed on, so that what is
    /// said in them counts as quoted too.
    pub(crate) passes_files_on: bool,
}

impl Dialect {
    /// What most chats have: people who answer, messages that can be edited and have buttons, and files by themselves. The same
    /// key may be sent twice there.
    pub(crate) fn chat(fit: Fit, pace: fn(&str) -> Duration) -> Self {
        Self {
            fit,
            pace,
            pace_of_all: Duration::ZERO,
            sends_once: false,
            edits: true,
            buttons: true,
            is_attended: true,
            attaches: None,
            drafts: |_| false,
            rich: None,
            has_threads: |_| false,
            passes_files_on: false,
        }
    }
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// Text that fits, with buttons below it.
    Text { text: &'a Styled, buttons: &'a [Button] },
    /// A file.
    File(&'a Attachment),
    /// Text and files in one message; only where the dialect says that they go together.
    Letter { text: Option<&'a Styled>, files: &'a [Attachment] },
    /// Text that is shown for some seconds in the place of the draft of the same key; only where the dialect has drafts.
    Draft(&'a Styled),
    /// Markdown with headings and tables; only where the dialect says how much of it a message may have.
    Rich(&'a str),
}

impl<'a> Content<'a> {
    /// Text without buttons.
    pub(crate) fn text(text: &'a Styled) -> Self {
        Self::Text { text, buttons: &[] }
    }
}

/// A button. What it sends back tells nothing to whoever reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Button {
    pub(crate) label: String,
    pub(crate) data: String,
}

/// Why something was not done, or perhaps was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It will never be done.
    Refused(String),
    /// It was not done, and may be later: after exactly this time, where the platform says it.
    Later { message: String, after: Option<Duration> },
    /// Nobody knows whether it was done.
    Doubtful(String),
    /// The message to edit is not there any more.
    Gone(String),
}

impl Fault {
    /// Not done, without a time.
    pub(crate) fn later(message: impl Into<String>) -> Self {
        Self::Later { message: message.into(), after: None }
    }

    /// There are no such messages there.
    pub(crate) fn no_such_form() -> Self {
        Self::Refused("there are no messages of this form there".into())
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Refused(message) | Self::Doubtful(message) | Self::Gone(message) => message,
            Self::Later { message, .. } => message,
        }
    }
}

/// A message that came in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// The platform's id of it, unique within the channel.
    pub(crate) id: String,
    /// Where it came from, and where the answer goes: the name of the session and the recipient.
    pub(crate) chat: String,
    /// Who wrote it.
    pub(crate) sender: Sender,
    /// Whether nobody else reads the chat.
    pub(crate) is_private: bool,
    /// Whether it is for us: private, or a mention or a reply to us.
    pub(crate) is_addressed: bool,
    /// What was written, without the mention of us.
    pub(crate) text: String,
    /// Words of others that it quotes.
    pub(crate) quoted: Option<String>,
    /// Whether all of it is somebody else's, passed on.
    pub(crate) is_forwarded: bool,
    /// Files.
    pub(crate) files: Vec<Offer>,
    /// When it was written.
    pub(crate) at: Timestamp,
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sender {
    /// The platform's own id.
    pub(crate) id: String,
    /// Their own name there, such as `@ada`, where it is theirs alone.
    pub(crate) name: Option<String>,
    /// The id of the group that it was written in.
    pub(crate) group: Option<String>,
}

/// A file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// By what it is fetched.
    pub(crate) handle: String,
    /// Its name.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) mime: String,
    /// How large it is said to be, in bytes.
    pub(crate) size: u64,
    /// How long it is said to last, in seconds, where it is a recording.
    #[serde(default)]
    pub(crate) seconds: Option<u64>,
}

/// A button that was pressed.
#[derive(Debug, Clone)]
pub(crate) struct Press {
    /// What the button sent.
    pub(crate) data: String,
    /// Who pressed it.
    pub(crate) sender: Sender,
    /// Where.
    pub(crate) chat: String,
}

/// What a look at the platform has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub id: String,
    /// Whether it is well.
    pub ok: bool,
    /// What was found; names the key to set where it is not well.
    pub detail: String,
}

impl Check {
    /// A finding.
    pub fn new(id: &str, ok: bool, detail: impl Into<String>) -> Self {
        Self { id: id.to_owned(), ok, detail: detail.into() }
    }
}
