//! A little randomness, so that clients that failed together do not come back together.

use aethon_core::ids::unique;

/// Returns a random number between 0 and 1.
pub(crate) fn fraction() -> f64 {
    // The last digits of a version 7 UUID are random.
    let number = u32::from_str_radix(&unique()[24..], 16).unwrap_or_default();
    f64::from(number) / f64::from(u32::MAX)
}
