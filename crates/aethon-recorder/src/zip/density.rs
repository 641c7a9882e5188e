//! What tells a bomb from text that packs well.

use super::{ALWAYS_FINE, MOST_RATIO};

/// Whether so many bytes are too many to come out of so few.
pub(super) fn is_too_dense(unpacked: u64, packed: u64) -> bool {
    unpacked > ALWAYS_FINE && unpacked > packed.saturating_mul(MOST_RATIO)
}
