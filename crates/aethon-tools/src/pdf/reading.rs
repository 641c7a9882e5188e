//! How many documents are read at once: each may take as much memory as it decompresses to.

use std::sync::LazyLock;

use aethon_core::turn::Trust;

use crate::slots::{SharedSlot, SharedSlots};

/// How many, for all turns together.
const MAX_AT_ONCE: usize = 4;

/// Waits until a document may be read, for a turn of this trust. The wait is short, since no document takes long.
pub(crate) async fn slot(trust: Trust) -> SharedSlot {
    static SLOTS: LazyLock<SharedSlots> = LazyLock::new(|| SharedSlots::of(MAX_AT_ONCE));
    SLOTS.take(trust).await
}
