//! Tells ZIP bombs from text that compresses well.

use super::{ALWAYS_FINE, MAX_RATIO};

/// Returns whether `unpacked` bytes from `packed` bytes look like a bomb.
pub(super) fn is_too_dense(unpacked: u64, packed: u64) -> bool {
    unpacked > ALWAYS_FINE && unpacked > packed.saturating_mul(MAX_RATIO)
}
