//! Messages made of typed blocks: those of people, of models and of the program.
//!
//! A transcript is a list of [`Message`]s. Providers translate them to their wire formats, the store keeps them as
//! JSON, and the pages show them. Blocks that a model must never see (such as a notice to the person) are identified by
//! [`Block::is_for_model`], so that the codecs need not know them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::failure::{EndReason, Failure};
use crate::ids::{MessageId, SessionId, TurnId};
pub use crate::inbound::{Attachment, Behalf, Dedupe, Destination, Handling, Inbound, Intent, Wishes};
pub use crate::opaque::Opaque;
use crate::token_usage::Usage;
pub use crate::tool::{ToolCall, ToolResult};
use crate::untrusted;
use crate::web_search::{WEB_SEARCH, WebSearch};
use crate::words::words;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Role {
    /// The sender that started the turn: a person, a webhook, a job.
    User,
    /// The model.
    Assistant,
    /// The results of the tool calls of the assistant message before it.
    Tool,
    /// The program itself, such as the note that older messages were folded.
    System,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text from a person, Markdown from a model.
    Text {
        /// The source text, without markers.
        text: String,
        /// Set if the text came from outside: the random boundary of the markers that are put round it whenever a model
        /// sees it. Stored, so that the request's prefix stays the same from turn to turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        untrusted: Option<String>,
    },
    /// A picture: in a user message an attachment, in an assistant message one that the model made.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime: String,
        /// The bytes in standard base64.
        data: String,
        /// What the provider of a made picture wants back with it in the next request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// A text file that came with a message.
    File {
        /// Its name, for the model and the person.
        name: String,
        /// Its media type.
        mime: String,
        /// Its text.
        text: String,
        /// The boundary of the markers round it, if it comes from outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        untrusted: Option<String>,
    },
    /// Context that a hook adds to the person's words, such as recalled memories. In system messages only.
    Context {
        /// Where it comes from, such as `memory`.
        source: String,
        /// The text, without markers.
        text: String,
        /// The random boundary of the markers that are put round it whenever a model sees it.
        boundary: String,
    },
    /// The model's reasoning before its answer.
    Reasoning {
        /// The readable part; may be empty.
        text: String,
        /// What the provider wants back unchanged in the next request (signatures, encrypted parts), with the name of
        /// the dialect that understands it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
        /// How long it took in milliseconds, if it was streamed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// A web search that the model's provider ran.
    Search(WebSearch),
    /// A tool call by the model.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A notice from the program to the person: an error, a limit that was reached. Never sent to a model.
    Notice {
        /// A stable word, such as `stopped` or `auth`.
        code: String,
        /// A sentence for a person.
        text: String,
    },
    /// Older messages that the model now sees only as a summary.
    Folded {
        /// How many messages.
        messages: u64,
        /// The first of them.
        from: String,
        /// The last of them.
        to: String,
        /// The summary that replaces them.
        summary: String,
    },
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), untrusted: None }
    }

    /// An attached picture.
    pub fn image(mime: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Image { mime: mime.into(), data: data.into(), opaque: None }
    }

    /// Context from this source, with a fresh boundary.
    pub fn context(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Context { source: source.into(), text: text.into(), boundary: untrusted::boundary() }
    }

    /// A notice to the person.
    pub fn notice(code: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Notice { code: code.into(), text: text.into() }
    }

    /// Returns what in it comes from outside, that is, neither from the owner nor from the assistant.
    pub fn outside(&self) -> Option<Outside<'_>> {
        match self {
            Self::Text { untrusted: Some(_), .. } => Some(Outside::Words),
            Self::File { untrusted: Some(_), name, .. } => Some(Outside::File(name)),
            Self::ToolResult(result) if result.untrusted.is_some() => Some(Outside::Tool(&result.name)),
            Self::Search(_) => Some(Outside::Tool(WEB_SEARCH)),
            _ => None,
        }
    }

    /// Returns whether it belongs in a model's context.
    pub fn is_for_model(&self) -> bool {
        !matches!(self, Self::Notice { .. })
    }
}

/// What kind of outside content a block contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside<'b> {
    /// A person's words.
    Words,
    /// A file of this name.
    File(&'b str),
    /// The output of this tool.
    Tool(&'b str),
}

/// Whether bytes start like a picture of this type: PNG, JPEG, GIF or WebP. Otherwise a service would reject the whole
/// conversation.
pub fn begins_like_picture(mime: &str, bytes: &[u8]) -> bool {
    match mime {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        _ => false,
    }
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// Its number; 0 until it is stored.
    pub id: MessageId,
    /// Its author.
    pub role: Role,
    /// Its content.
    pub content: Vec<Block>,
    /// When it was created.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// The turn that it belongs to.
    pub turn: Option<TurnId>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The usage of the call that produced it.
    pub usage: Option<Usage>,
    /// How the turn ended, on the turn's last message.
    pub stop_reason: Option<TurnEnd>,
}

impl Message {
    /// A message that is not stored yet. It may be kept for long, so what its list and its text have reserved is given
    /// back.
    pub fn new(role: Role, mut content: Vec<Block>, created_at: Timestamp) -> Self {
        content.shrink_to_fit();
        for block in &mut content {
            if let Block::Text { text, .. } | Block::Reasoning { text, .. } = block {
                text.shrink_to_fit();
            }
        }
        Self {
            id: MessageId(0),
            role,
            content,
            created_at,
            turn: None,
            model: None,
            usage: None,
            stop_reason: None,
        }
    }

    /// Returns all text blocks, joined by blank lines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None })
            .collect();
        texts.join("\n\n")
    }

    /// Returns the size of its texts in bytes.
    pub fn text_bytes(&self) -> usize {
        let texts = self.content.iter();
        texts.map(|block| if let Block::Text { text, .. } = block { text.len() } else { 0 }).sum()
    }

    /// Iterates over its tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content
            .iter()
            .filter_map(|block| if let Block::ToolCall(call) = block { Some(call) } else { None })
    }
}

words! {
    /// How a turn ended.
    pub enum TurnEnd {
        /// The model said all it had to say.
        End = "end",
        /// It was stopped, or the program was shut down.
        Stopped = "stopped",
        /// A loop, too many iterations, or the turn's time limit.
        Limit = "limit",
        /// The daily budget refused a model call.
        Budget = "budget",
        /// The model failed.
        Error = "error",
    }
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The turn.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionId,
    /// The Markdown for the person: the model's answer, and the reason if something ended the turn early.
    pub text: String,
    /// How it ended.
    pub end: TurnEnd,
    /// The model that answered last.
    pub model: String,
    /// The total usage of the turn's model calls.
    pub usage: Usage,
    /// What went wrong, if `end` is not [`TurnEnd::End`] or [`TurnEnd::Stopped`].
    pub failure: Option<Failure>,
}
