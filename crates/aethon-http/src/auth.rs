//! The access token.

use aethon_core::secret::Secret;

/// Compares what a request brings with the configured token.
pub(crate) struct Gate {}

impl Gate {
    pub(crate) fn new(_token: &Secret) -> Self {
        Self {}
    }
}
