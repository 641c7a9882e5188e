//! Message types that older Bot API servers do not know: drafts and rich messages.
//!
//! The owner enables them. If a server turns out not to know one, it is not tried again while the channel lives, and
//! the log says so once.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::api::Failure;
use super::form::entities;
use crate::text::{RichFit, Styled};

/// The limits of a rich message. The length is that of its Markdown, which is never shorter than the visible text.
const FIT: RichFit = RichFit { length: 32_768, blocks: 500, depth: 16, columns: 20 };

/// Which of these types are in use.
pub(super) struct Newer {
    drafts: AtomicBool,
    rich: AtomicBool,
}

impl Newer {
    pub(super) fn new(drafts: bool, rich: bool) -> Self {
        Self { drafts: drafts.into(), rich: rich.into() }
    }

    /// Returns the chats in which growing replies are shown as drafts: private ones, or none.
    pub(super) fn drafts(&self) -> fn(&str) -> bool {
        if self.drafts.load(Ordering::Relaxed) { |chat| !chat.starts_with(['-', '@']) } else { |_| false }
    }

    /// Returns the limits of a rich message, if there are such.
    pub(super) fn rich(&self) -> Option<RichFit> {
        self.rich.load(Ordering::Relaxed).then_some(FIT)
    }

    /// Records why a draft was not shown.
    pub(super) fn note_draft(&self, failure: &Failure) {
        let Failure::Unfit { message, .. } = failure else { return };
        if self.drafts.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                channel = "telegram",
                message,
                "the server refuses drafts; replies grow by edits instead"
            );
        }
    }

    /// Records why a rich message was not sent.
    pub(super) fn note_rich(&self, failure: &Failure) {
        let Failure::Unfit { message, is_unknown: true } = failure else { return };
        if self.rich.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                channel = "telegram",
                message,
                "the server knows no rich messages; replies go out in the ordinary form"
            );
        }
    }
}

/// Builds a draft. It replaces an earlier one with the same key.
pub(super) fn draft(text: &Styled, key: &str) -> Value {
    // FNV-1a, limited to 31 bits because some clients keep no more. Zero is not a valid draft id.
    let hash =
        key.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut params = json!({"draft_id": (hash >> 1).max(1), "text": text.text});
    let entities = entities(text);
    if !entities.is_empty() {
        params["entities"] = json!(entities);
    }
    params
}

/// Builds a rich message. Names and tags in it cause no notifications.
pub(super) fn rich_message(markdown: &str) -> Value {
    json!({"rich_message": {"markdown": markdown, "skip_entity_detection": true}})
}
