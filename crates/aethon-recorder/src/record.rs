//! Stored formats of recordings, the same in the journal and in the ZIP.
//!
//! The types for reading are more lenient than those for writing: a recording may come from another program, which must
//! supply only what the contract requires.

use std::collections::BTreeMap;

use aethon_core::ids::{MessageId, TurnId};
use aethon_core::message::{Block, Message, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::recording::Manifest;
use aethon_core::tool::ToolSpec;
use aethon_guard::redact::Redactor;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mask::Masked;

/// Format version that is written and read.
pub(crate) const FORMAT: u32 = 1;

/// Type of the last event of a recording that ended properly.
pub(crate) const ENDED: &str = "recording_ended";

/// The first record of a journal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) format_version: u32,
    pub(crate) session_id: String,
    pub(crate) started_at: String,
    pub(crate) version: String,
}

/// `manifest.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredManifest {
    pub(crate) format_version: u32,
    pub(crate) session_id: String,
    pub(crate) started_at: Timestamp,
    pub(crate) ended_at: Timestamp,
    #[serde(default)]
    pub(crate) version: String,
    pub(crate) events_count: u64,
    pub(crate) snapshots_count: u64,
    /// SHA-256 of each entry.
    pub(crate) entries: BTreeMap<String, String>,
    /// The seal of the home that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seal: Option<String>,
}

impl StoredManifest {
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            format_version: self.format_version,
            session_id: self.session_id.clone(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            version: self.version.clone(),
            events_count: self.events_count,
            snapshots_count: self.snapshots_count,
        }
    }
}

/// An event as written.
#[derive(Serialize)]
pub(crate) struct NewEvent<'e, D> {
    pub(crate) seq: u64,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub(crate) ts: Timestamp,
    pub(crate) layer: aethon_core::recording::Layer,
    pub(crate) r#type: &'e str,
    pub(crate) data: D,
    pub(crate) trace_id: &'e str,
}

/// Time and number of an event: all that is read of it apart from its content.
#[derive(Debug, Deserialize)]
pub(crate) struct EventHead {
    pub(crate) ts: String,
    pub(crate) seq: u64,
    pub(crate) layer: aethon_core::recording::Layer,
    pub(crate) r#type: String,
}

/// `snapshots/NNNNNN.json` as written.
#[derive(Serialize)]
pub(crate) struct NewSnapshot<'s> {
    pub(crate) n: u64,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub(crate) ts: Timestamp,
    pub(crate) turn: &'s TurnId,
    /// How many messages of the previous snapshot are kept, counted from the first.
    pub(crate) keeps: u64,
    pub(crate) message_count: u64,
    pub(crate) messages: &'s [NewMessage<'s>],
    /// `null` if unchanged since the previous snapshot.
    pub(crate) system_prompt: Option<Masked<'s, str>>,
    /// `null` if unchanged since the previous snapshot.
    pub(crate) tools: Option<Masked<'s, [ToolSpec]>>,
    pub(crate) model: &'s str,
    pub(crate) cwd: &'s str,
}

/// A snapshot as read.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredSnapshot {
    #[serde(default)]
    pub(crate) ts: Option<String>,
    #[serde(default)]
    pub(crate) turn: Option<String>,
    #[serde(default)]
    pub(crate) keeps: Option<u64>,
    pub(crate) messages: Vec<StoredMessage>,
    #[serde(default)]
    pub(crate) system_prompt: Option<String>,
    #[serde(default)]
    pub(crate) tools: Option<Vec<Value>>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) cwd: Option<String>,
}

/// A snapshot as read, without its messages.
#[derive(Debug, Deserialize)]
pub(crate) struct SnapshotHead {
    #[serde(default)]
    pub(crate) ts: Option<String>,
    #[serde(default)]
    pub(crate) turn: Option<String>,
    #[serde(default)]
    pub(crate) keeps: Option<u64>,
    pub(crate) messages: Vec<serde::de::IgnoredAny>,
}

/// A message as written. Only its content is masked: its role and time are no secrets, and could not be parsed back from
/// `***`.
#[derive(Serialize)]
pub(crate) struct NewMessage<'m> {
    pub(crate) id: MessageId,
    pub(crate) role: Role,
    pub(crate) content: Masked<'m, [Block]>,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub(crate) created_at: Timestamp,
    pub(crate) turn: Option<&'m TurnId>,
    pub(crate) model: Option<&'m str>,
    pub(crate) usage: Option<&'m Usage>,
    pub(crate) stop_reason: Option<TurnEnd>,
}

impl<'m> NewMessage<'m> {
    pub(crate) fn of(redactor: &'m Redactor, message: &'m Message) -> Self {
        Self {
            id: message.id,
            role: message.role,
            content: Masked::new(redactor, message.content.as_slice()),
            created_at: message.created_at,
            turn: message.turn.as_ref(),
            model: message.model.as_deref(),
            usage: message.usage.as_ref(),
            stop_reason: message.stop_reason,
        }
    }
}

/// A message as read.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredMessage {
    #[serde(default)]
    id: Option<Value>,
    role: Role,
    content: Content,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    turn: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    stop_reason: Option<TurnEnd>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl StoredMessage {
    /// Converts it to a message; missing fields are filled in from the recording.
    pub(crate) fn into_message(self, recorded: Timestamp) -> Message {
        let content = match self.content {
            Content::Text(text) => vec![Block::text(text)],
            Content::Blocks(blocks) => blocks,
        };
        let mut message = Message::new(self.role, content, self.created_at.unwrap_or(recorded));
        let id = match &self.id {
            Some(Value::String(id)) => id.parse().ok(),
            Some(id) => id.as_i64(),
            None => None,
        };
        message.id = MessageId(id.unwrap_or(0));
        message.turn = self.turn.as_deref().map(TurnId::existing);
        message.model = self.model;
        message.usage = self.usage;
        message.stop_reason = self.stop_reason;
        message
    }
}
