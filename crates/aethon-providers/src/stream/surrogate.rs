//! Halves of characters outside the basic plane, which JSON may carry one by one, and the private characters that stand for
//! them until they meet.

/// The private characters that stand for halves begin here.
pub(super) const FIRST_HALF: u32 = 0x10_0000;

/// Returns whether a half is the first one of a character.
pub(super) fn is_first(half: u32) -> bool {
    (0xD800..0xDC00).contains(&half)
}
