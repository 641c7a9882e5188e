//! Remarks for the next mail of a thread, such as a file that could not be read. They are kept until that mail is sent, so that
//! one question gets one mail.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::{SignedDuration, Timestamp};

use crate::text::Styled;

/// How long a note waits for a mail.
const WAITS: SignedDuration = SignedDuration::from_hours(7 * 24);

fn name(chat: &str) -> String {
    format!("note:{chat}")
}

/// Returns the note that waits for a mail to this chat.
pub(super) async fn waiting(records: &dyn ChannelRecords, chat: &str) -> Result<Option<String>> {
    records.get("email", &name(chat)).await
}

/// Adds to the note.
pub(super) async fn add(records: &dyn ChannelRecords, chat: &str, note: &str, now: Timestamp) -> Result<()> {
    let note = match waiting(records, chat).await? {
        Some(before) if before.contains(note) => return Ok(()),
        Some(before) => format!("{before}\n\n{note}"),
        None => note.to_owned(),
    };
    records.put("email", &name(chat), &note, Some(now + WAITS)).await
}

/// Removes the note that a mail has mentioned.
pub(super) async fn mentioned(records: &dyn ChannelRecords, chat: &str) -> Result<()> {
    records.take("email", &name(chat)).await.map(drop)
}

/// Returns a text with the note below it.
pub(super) fn with_note(text: &Styled, note: &str) -> Styled {
    let mut text = text.clone();
    if !text.text.trim().is_empty() {
        text.text.push_str("\n\n");
    }
    text.text.push_str(note);
    text
}
