//! Extracts the text of a PDF for models: page by page, without layout or images.
//!
//! A custom implementation, because documents may be hostile and the existing PDF crates do not bound decompression.
//! `syntax` parses objects, `document` finds them and decompresses streams within a budget, `fonts` maps codes to
//! characters, `content` follows what a page draws, and `effort` ends a document that takes too much. Broken parts are
//! skipped, so that the rest can be read. Encrypted documents and scanned pages have no text here.

mod content;
mod document;
mod effort;
mod fonts;
mod syntax;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use aethon_core::turn::Trust;

pub(crate) use content::text;

use crate::slots::{SharedSlot, SharedSlots};

/// How many documents are read at once: each may take the memory of what it decompresses.
const MAX_AT_ONCE: usize = 4;

/// Waits until a document may be read, for a turn of this trust. Nobody waits for long, since no document takes long.
pub(crate) async fn slot(trust: Trust) -> SharedSlot {
    static SLOTS: LazyLock<SharedSlots> = LazyLock::new(|| SharedSlots::of(MAX_AT_ONCE));
    SLOTS.take(trust).await
}
