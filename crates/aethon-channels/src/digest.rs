//! Names made of content: the same for the same content, and as short as a place allows.

use ring::digest::{Digest, SHA256, digest};

/// Returns the first bytes of the SHA-256 digest of some content, in hexadecimal.
pub(crate) fn digest_of(content: impl AsRef<[u8]>, bytes: usize) -> String {
    shortened(digest(&SHA256, content.as_ref()), bytes)
}

/// Returns the first bytes of a digest, in hexadecimal.
pub(crate) fn shortened(digest: Digest, bytes: usize) -> String {
    digest.as_ref().iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}
