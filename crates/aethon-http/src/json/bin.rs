//! The document about the bin: conversations that were deleted and can come back.

use aethon_core::error::{Error, Result};
use aethon_core::session::{BinId, BinQuery, BinnedSession};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::deps::Chat;

/// A page of the bin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bin {
    /// The sessions, last deleted first.
    pub sessions: Vec<InBin>,
    /// How many there are in total.
    pub count: u64,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
    /// How many days a session stays; 0 if what is deleted is gone at once.
    pub keep_days: u32,
}

/// A session in the bin.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BinnedSession")]
pub struct InBin {
    /// When it is deleted for good, at the earliest.
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub expires_at: Timestamp,
    /// What it was, and when it was deleted.
    #[serde(flatten)]
    pub binned: BinnedSession,
}

/// Lists what lies in the bin.
pub async fn bin(chat: &Chat, query: BinQuery) -> Result<Bin> {
    let page = chat.transcripts.binned(query).await?;
    let kept = SignedDuration::from_hours(i64::from(chat.bin_days).saturating_mul(24));
    let last = page.sessions.last().filter(|_| page.has_more);
    let next_cursor = last.map(|last| format!("{:x}-{:x}", last.deleted_at.as_millisecond(), last.bin_id.0));
    let sessions = page.sessions.into_iter().map(|binned| {
        let expires_at = binned.deleted_at.saturating_add(kept).unwrap_or(Timestamp::MAX);
        InBin { expires_at, binned }
    });
    Ok(Bin { sessions: sessions.collect(), count: page.count, next_cursor, keep_days: chat.bin_days })
}

/// Parses the cursor of a page.
pub fn bin_cursor(cursor: &str) -> Result<(Timestamp, BinId)> {
    let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
    let parts = cursor.split_once('-');
    let parsed = parts.and_then(|(time, place)| {
        Some((Timestamp::from_millisecond(number(time)?).ok()?, BinId(number(place)?)))
    });
    parsed.ok_or_else(|| Error::invalid("the cursor is not one of this listing"))
}
