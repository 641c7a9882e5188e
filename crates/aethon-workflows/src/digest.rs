//! Digests, by which a change of a text is noticed without keeping the text.

/// Returns the SHA-256 digest of a text, in hexadecimal. No two texts with the same digest can be made on purpose.
pub fn digest(text: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
