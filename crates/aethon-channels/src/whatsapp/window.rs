//! Tracks who can still be reached with free text: people who wrote within the last day. Later, Meta accepts the
//! message with 200 and then reports a failure, so it is not even tried.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::{SignedDuration, Timestamp};

/// How long after a person's message free text reaches them.
const OPEN: SignedDuration = SignedDuration::from_hours(24);
/// How long the time of a message is remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Records that a person wrote at this time.
pub(super) async fn opened(records: &dyn ChannelRecords, chat: &str, at: Timestamp) -> Result<()> {
    // Meta's calls may come in any order.
    if last(records, chat).await?.is_some_and(|last| last >= at) {
        return Ok(());
    }
    records.put("whatsapp", &name(chat), &at.as_second().to_string(), Some(at + REMEMBERED)).await
}

/// Returns whether free text no longer reaches a person. For someone who never wrote, this is unknown, and Meta
/// decides.
pub(super) async fn is_closed(records: &dyn ChannelRecords, chat: &str, now: Timestamp) -> Result<bool> {
    Ok(last(records, chat).await?.is_some_and(|last| now.duration_since(last) > OPEN))
}

async fn last(records: &dyn ChannelRecords, chat: &str) -> Result<Option<Timestamp>> {
    let stored = records.get("whatsapp", &name(chat)).await?;
    Ok(stored.and_then(|second| Timestamp::from_second(second.parse().ok()?).ok()))
}

fn name(chat: &str) -> String {
    format!("heard:{chat}")
}
