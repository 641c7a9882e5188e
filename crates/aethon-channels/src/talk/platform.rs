//! The trait of a platform's codec, and the types it shares with the common parts.

use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::message::Attachment;
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::text::{Fit, RichFit, Styled};

/// The reactions by which a platform can show that a message is being answered. By default it has none.
#[async_trait]
pub(crate) trait Reactions: Send + Sync {
    /// Adds our reaction to a message, as a sign that it is being answered. Returns a reference for removing it.
    async fn acknowledge(&self, _chat: &str, _message: &str) -> Result<String, Fault> {
        Err(Fault::no_such_form())
    }

    /// Removes our reaction from a message. The reference is unknown if adding it had no clear outcome.
    async fn withdraw(&self, _chat: &str, _message: &str, _reference: Option<&str>) -> Result<(), Fault> {
        Err(Fault::no_such_form())
    }
}

/// A messenger's wire.
#[async_trait]
pub(crate) trait Platform: Reactions + Identity {
    /// Returns the platform's capabilities and limits.
    fn dialect(&self) -> Dialect;

    /// Sends something to a chat. The key is the same for every attempt, for platforms that deduplicate by key.
    /// Returns the id of the message.
    async fn post(&self, chat: &str, content: Content<'_>, key: &str) -> Result<String, Fault>;

    /// Like [`Platform::post`], as a reply to a message, where the platform shows to what a message replies. Whether that
    /// message still exists makes no difference.
    async fn reply(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        _question: &str,
    ) -> Result<String, Fault> {
        self.post(chat, content, key).await
    }

    /// Replaces the content of a message. It is not a failure if nothing changes.
    async fn edit(&self, chat: &str, message: &str, content: Content<'_>) -> Result<(), Fault>;

    /// Shows a typing indicator for some seconds.
    async fn typing(&self, chat: &str) -> Result<(), Fault>;

    /// Fetches a file of a message that the intake has admitted, possibly before a restart.
    async fn fetch(&self, file: &RemoteFile) -> Result<Vec<u8>, Fault>;

    /// Mentions something in the next message to this chat. Returns whether it will be: most platforms say it in a message of
    /// its own.
    async fn mention(&self, _chat: &str, _note: &str) -> Result<bool, aethon_core::error::Error> {
        Ok(false)
    }
}

/// Who we are on a messenger.
#[async_trait]
pub(crate) trait Identity: Send + Sync {
    /// Asks the platform who we are, with the key that sends.
    async fn identify(&self) -> Result<(), Fault>;

    /// Checks whether the platform grants us access, without sending or receiving anything.
    async fn inspect(&self) -> Vec<Check>;
}

/// The capabilities and limits of a platform.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The limits of a message.
    pub(crate) fit: Fit,
    /// The minimum interval between calls to this chat.
    pub(crate) pace: fn(&str) -> Duration,
    /// The minimum interval between all calls, whatever the chat; zero where each chat is limited by itself.
    pub(crate) pace_of_all: Duration,
    /// Whether the platform deduplicates by key, so that a doubtful attempt may simply be repeated.
    pub(crate) sends_once: bool,
    /// Whether messages can be edited.
    pub(crate) edits: bool,
    /// Whether messages have buttons.
    pub(crate) buttons: bool,
    /// Whether someone can decide an approval there while a turn waits. If not, what needs approval is denied.
    pub(crate) is_attended: bool,
    /// How many bytes of files, in base64, fit in one message with a text; `None` where each file is a message of its
    /// own.
    pub(crate) attaches: Option<usize>,
    /// Whether growing replies in this chat are shown by drafts, which expire by themselves, rather than by edits of
    /// a message.
    pub(crate) drafts: fn(&str) -> bool,
    /// The limits of a message with headings and tables; `None` where there is none.
    pub(crate) rich: Option<RichFit>,
    /// Whether this chat contains others, whose names consist of its own, a colon and a suffix.
    pub(crate) has_threads: fn(&str) -> bool,
    /// Whether the files of a message that quotes others are probably theirs, as in forwarded mail, so that their
    /// transcripts count as quoted too.
    pub(crate) passes_files_on: bool,
    /// The length, in UTF-16 units, at which clients cut a text into several messages; `None` where every message is
    /// complete in itself.
    pub(crate) splits_at: Option<usize>,
}

impl Dialect {
    /// Returns the features of most chats: people who can answer, messages with edits and buttons, and files on their
    /// own. Duplicates of a key are not detected.
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
            splits_at: Some(4096),
        }
    }
}

/// Something to send.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// Text that fits, with buttons below it.
    Text { text: &'a Styled, buttons: &'a [Button] },
    /// A file.
    File(&'a Attachment),
    /// Text and files in one message; only where the dialect allows it.
    TextWithFiles { text: Option<&'a Styled>, files: &'a [Attachment] },
    /// Text shown for some seconds, replacing the draft with the same key; only where the dialect has drafts.
    Draft(&'a Styled),
    /// Markdown with headings and tables; only where the dialect sets limits for it.
    Rich(&'a str),
}

impl<'a> Content<'a> {
    /// Text without buttons.
    pub(crate) fn text(text: &'a Styled) -> Self {
        Self::Text { text, buttons: &[] }
    }
}

/// A button. The data it sends back reveals nothing to others who see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Button {
    pub(crate) label: String,
    pub(crate) data: String,
}

/// Why something was not done, or why that is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It will never succeed, in the platform's own words.
    Refused(String),
    /// The platform does not accept us, whatever the message. Says what to configure.
    Identity(String),
    /// It was refused without a word that says what is wrong with it, so it may be a slip, or be about us.
    Unclear(String),
    /// It was not done but may succeed later: after exactly this time, if the platform says so.
    Later { message: String, after: Option<Duration> },
    /// It is unknown whether it was done.
    Doubtful(String),
    /// The message to edit no longer exists.
    Gone(String),
}

impl Fault {
    /// Not done, without a time for the next attempt.
    pub(crate) fn later(message: impl Into<String>) -> Self {
        Self::Later { message: message.into(), after: None }
    }

    /// The platform has no messages of this kind.
    pub(crate) fn no_such_form() -> Self {
        Self::Refused("there are no messages of this form there".into())
    }

    /// Describes what happened.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Refused(message) | Self::Identity(message) | Self::Unclear(message) => message,
            Self::Doubtful(message) | Self::Gone(message) => message,
            Self::Later { message, .. } => message,
        }
    }
}

/// An incoming message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// The platform's id, unique within the channel.
    pub(crate) id: String,
    /// Where it came from and where the answer goes: the name of the session and the recipient.
    pub(crate) chat: String,
    /// Who wrote it.
    pub(crate) sender: Sender,
    /// Whether the chat is private: no third person reads it.
    pub(crate) is_private: bool,
    /// Whether it is addressed to us: private, or with a mention of or a reply to us.
    pub(crate) is_addressed: bool,
    /// The text, without the mention of us.
    pub(crate) text: String,
    /// Other people's words that it quotes or answers.
    pub(crate) quoted: Option<String>,
    /// Our own words or the sender's that it answers; other people's are [`Arrival::quoted`].
    #[serde(default)]
    pub(crate) answered: Option<Answered>,
    /// Other people's words that came before it in the same thread, if the conversation does not have them.
    #[serde(default)]
    pub(crate) earlier: Option<String>,
    /// Whether all of it is someone else's, forwarded.
    pub(crate) is_forwarded: bool,
    /// Files.
    pub(crate) files: Vec<RemoteFile>,
    /// The answer to its sender if it has neither words nor files that a model could be shown: it starts no turn.
    #[serde(default)]
    pub(crate) wordless: Option<String>,
    /// The platform's name, unique in its chat, for messages sent in one act, such as the pictures of an album.
    #[serde(default)]
    pub(crate) act: Option<String>,
    /// The id of the earlier message of the same sender that it replaces, for an edit; its own id names the edit.
    #[serde(default)]
    pub(crate) replaces: Option<String>,
    /// When it was written.
    pub(crate) at: Timestamp,
}

impl Arrival {
    /// A message without words, addressed to us in a private chat.
    pub(crate) fn new(id: impl Into<String>, chat: impl Into<String>, sender: Sender, at: Timestamp) -> Self {
        Self {
            id: id.into(),
            chat: chat.into(),
            sender,
            is_private: true,
            is_addressed: true,
            text: String::new(),
            quoted: None,
            answered: None,
            earlier: None,
            is_forwarded: false,
            files: Vec::new(),
            wordless: None,
            act: None,
            replaces: None,
            at,
        }
    }
}

/// Words of a conversation that a message answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answered {
    /// Who wrote them.
    pub(crate) author: AnsweredAuthor,
    /// The whole text, or the part of it that was chosen.
    pub(crate) text: String,
}

/// Who wrote the words that a message answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnsweredAuthor {
    /// We did.
    Assistant,
    /// The sender of the message did.
    Sender,
}

/// The author of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sender {
    /// The platform's own id.
    pub(crate) id: String,
    /// Their user name, such as `@ada`, if the platform makes it unique.
    pub(crate) name: Option<String>,
    /// The id of the group in which it was written.
    pub(crate) group: Option<String>,
}

/// A file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteFile {
    /// The reference for fetching it.
    pub(crate) handle: String,
    /// Its name.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) mime: String,
    /// Its claimed size in bytes.
    pub(crate) size: u64,
    /// Its claimed duration in seconds, if it is a recording.
    #[serde(default)]
    pub(crate) seconds: Option<u64>,
    /// Whether another person sent it and the message only answers theirs, so that it is untrusted.
    #[serde(default)]
    pub(crate) is_quoted: bool,
    /// Whether it came with the earlier message that this one answers, and not with this one.
    #[serde(default)]
    pub(crate) is_earlier: bool,
}

/// A button press.
#[derive(Debug, Clone)]
pub(crate) struct Press {
    /// The data of the button.
    pub(crate) data: String,
    /// Who pressed it.
    pub(crate) sender: Sender,
    /// The chat.
    pub(crate) chat: String,
}

/// One result of checking the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub id: String,
    /// Whether it is in order.
    pub ok: bool,
    /// The finding; names the configuration key to set if there is a problem.
    pub detail: String,
}

impl Check {
    /// Creates a result.
    pub fn new(id: &str, ok: bool, detail: impl Into<String>) -> Self {
        Self { id: id.to_owned(), ok, detail: detail.into() }
    }
}
