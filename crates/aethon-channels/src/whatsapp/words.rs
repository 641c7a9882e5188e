//! The words of recent messages, theirs and ours. Meta names only the id of a message that another one answers, so
//! they are stored for a while.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::talk::{Arrival, Author, Original, RemoteFile, shortened};

/// How long a message can be answered with its words.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How much of a message is stored, in characters.
const MAX_TEXT: usize = 2000;

/// A stored message.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    /// Who sent it; `None` for ourselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    text: String,
    /// Whether the sender only passed it on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_forwarded: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<RemoteFile>,
}

/// Stores a message that arrived.
pub(super) async fn remember_theirs(
    records: &dyn ChannelRecords,
    arrival: &Arrival,
    now: Timestamp,
) -> Result<()> {
    let stored = Stored {
        sender: Some(arrival.sender.id.clone()),
        text: shortened(&arrival.text, MAX_TEXT),
        is_forwarded: arrival.is_forwarded,
        files: arrival.files.clone(),
    };
    // An edit is answered under the id of its message.
    put(records, arrival.replaces.as_deref().unwrap_or(&arrival.id), &stored, now).await
}

/// Stores a message of ours.
pub(super) async fn remember_ours(
    records: &dyn ChannelRecords,
    message: &str,
    text: &str,
    now: Timestamp,
) -> Result<()> {
    let text = shortened(text, MAX_TEXT);
    let stored = Stored { sender: None, text, is_forwarded: false, files: Vec::new() };
    put(records, message, &stored, now).await
}

async fn put(records: &dyn ChannelRecords, message: &str, stored: &Stored, now: Timestamp) -> Result<()> {
    let is_empty = stored.text.trim().is_empty() && stored.files.is_empty();
    if message.is_empty() || is_empty {
        return Ok(());
    }
    // This cannot fail.
    let value = serde_json::to_string(stored).unwrap_or_default();
    records.put("whatsapp", &name(message), &value, Some(now + REMEMBERED)).await
}

/// Returns a message by its id, for this person who answers it.
pub(super) async fn recall(
    records: &dyn ChannelRecords,
    message: &str,
    sender: &str,
) -> Result<Option<Original>> {
    let stored = records.get("whatsapp", &name(message)).await?;
    let stored: Option<Stored> = stored.and_then(|stored| serde_json::from_str(&stored).ok());
    Ok(stored.map(|Stored { sender: of, text, is_forwarded, files }| {
        let author = match of {
            None => Author::Us,
            Some(of) if of == sender && !is_forwarded => Author::Sender,
            Some(_) => Author::Other,
        };
        Original { author, text, files }
    }))
}

fn name(message: &str) -> String {
    format!("words:{message}")
}
