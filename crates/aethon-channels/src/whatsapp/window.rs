//! Whom free text still reaches: somebody who has written within the last day. Later, Meta says 200 to it, and then that it has
//! failed, so it is not even tried.

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use jiff::{SignedDuration, Timestamp};

/// How long after a message of theirs free text reaches a person.
const OPEN: SignedDuration = SignedDuration::from_hours(24);
/// How long it is remembered when somebody has written.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Somebody has written at this time.
pub(super) async fn opened(records: &dyn ChannelRecords, chat: &str, at: Timestamp) -> Result<()> {
    // Meta's calls come in any order.
    if last(records, chat).await?.is_some_and(|last| last >= at) {
        return Ok(());
    }
    records.put("whatsapp", &name(chat), &at.as_second().to_string(), Some(at + REMEMBERED)).await
}

/// Whether free text no longer reaches them. Of somebody who never wrote here nothing is known, and Meta decides.
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
