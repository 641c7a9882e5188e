//! The JSON types of the Bot API, as far as they are read.

use serde::Deserialize;
use serde_json::Value;

/// The response to every call.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    #[serde(default)]
    pub(super) ok: bool,
    #[serde(default)]
    pub(super) result: Value,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) parameters: Parameters,
}

/// Additional information about a failure.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Parameters {
    pub(super) retry_after: Option<u64>,
    pub(super) migrate_to_chat_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub(super) update_id: i64,
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
    pub(super) callback_query: Option<Callback>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Callback {
    pub(super) id: String,
    pub(super) from: User,
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) data: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    pub(super) username: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    pub(super) sender_chat: Option<Chat>,
    #[serde(default)]
    pub(super) date: i64,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    #[serde(default)]
    pub(super) caption: String,
    #[serde(default)]
    pub(super) caption_entities: Vec<Entity>,
    #[serde(flatten)]
    pub(super) others: Others,
    #[serde(flatten)]
    pub(super) files: Files,
    #[serde(flatten)]
    pub(super) things: Things,
    pub(super) migrate_to_chat_id: Option<i64>,
}

impl Message {
    /// Returns the text or caption, and its entities.
    pub(super) fn words(&self) -> (&str, &[Entity]) {
        match self.text.is_empty() {
            true => (&self.caption, &self.caption_entities),
            false => (&self.text, &self.entities),
        }
    }
}

/// Other people's words that a message includes.
#[derive(Debug, Deserialize)]
pub(super) struct Others {
    pub(super) reply_to_message: Option<Box<Message>>,
    pub(super) external_reply: Option<ExternalReply>,
    pub(super) quote: Option<Quote>,
    pub(super) forward_origin: Option<ForwardOrigin>,
}

/// A message of another chat that is answered. It has no words besides a chosen quote.
#[derive(Debug, Deserialize)]
pub(super) struct ExternalReply {
    pub(super) origin: Option<ForwardOrigin>,
    #[serde(flatten)]
    pub(super) files: Files,
    #[serde(flatten)]
    pub(super) things: Things,
}

/// The parts that are neither words nor a file.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Things {
    pub(super) location: Option<Value>,
    pub(super) venue: Option<Value>,
    pub(super) contact: Option<Value>,
    pub(super) poll: Option<Value>,
    pub(super) sticker: Option<Value>,
    pub(super) dice: Option<Value>,
    pub(super) game: Option<Value>,
    pub(super) invoice: Option<Value>,
    pub(super) checklist: Option<Value>,
    pub(super) giveaway: Option<Value>,
    pub(super) giveaway_winners: Option<Value>,
    pub(super) story: Option<Value>,
    /// When the message was edited, as a live location is all the time.
    pub(super) edit_date: Option<i64>,
}

/// The attachments of a message.
#[derive(Debug, Deserialize)]
pub(super) struct Files {
    /// The album that they are part of.
    pub(super) media_group_id: Option<String>,
    #[serde(default)]
    pub(super) photo: Vec<File>,
    pub(super) document: Option<File>,
    pub(super) voice: Option<File>,
    pub(super) audio: Option<File>,
    pub(super) video: Option<File>,
    pub(super) video_note: Option<File>,
    pub(super) animation: Option<File>,
    pub(super) paid_media: Option<PaidMedia>,
}

/// Media that cost something. They have a photo only once they are paid for.
#[derive(Debug, Deserialize)]
pub(super) struct PaidMedia {
    #[serde(default)]
    pub(super) paid_media: Vec<PaidMedium>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PaidMedium {
    #[serde(default)]
    pub(super) photo: Vec<File>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Quote {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ForwardOrigin {
    pub(super) sender_user: Option<User>,
}

impl ForwardOrigin {
    /// Returns whether this user wrote it.
    pub(super) fn is_by(&self, user: i64) -> bool {
        self.sender_user.as_ref().is_some_and(|sender| sender.id == user)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) user: Option<User>,
    /// The address behind the words.
    pub(super) url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) file_id: String,
    pub(super) file_name: Option<String>,
    pub(super) mime_type: Option<String>,
    #[serde(default)]
    pub(super) file_size: u64,
    pub(super) file_path: Option<String>,
    pub(super) duration: Option<u64>,
}
