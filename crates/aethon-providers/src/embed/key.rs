//! The key of a text in a vector cache.

use aethon_core::embed::TextKey;
use ring::digest::{Context, SHA256};

/// Computes cache keys for one embedder: the SHA-256 of the text, the length of its vectors and the service's
/// address, because the same name may be another model at another address.
///
/// SHA-256, because two texts with one key would silently share a vector, and texts may come from strangers: the hash
/// must be collision-resistant.
#[derive(Debug, Clone)]
pub struct TextKeys {
    setting: String,
}

impl TextKeys {
    /// Creates the keys for the embedder of these options; see [`crate::embedder`].
    pub fn new(host: &str, dimensions: Option<u32>) -> Self {
        let dimensions = dimensions.map(|dimensions| dimensions.to_string()).unwrap_or_default();
        Self { setting: format!("{dimensions}\0{}\0", host.trim().trim_end_matches('/')) }
    }

    /// Returns the key of a text.
    pub fn key(&self, text: &str) -> TextKey {
        let mut context = Context::new(&SHA256);
        context.update(self.setting.as_bytes());
        context.update(text.as_bytes());
        let mut key = TextKey::default();
        key.copy_from_slice(context.finish().as_ref());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_all_that_the_vector_depends_on() {
        let keys = TextKeys::new("http://localhost:1", None);
        assert_eq!(keys.key("a"), TextKeys::new(" http://localhost:1/ ", None).key("a"));
        for (host, dimensions, text) in
            [("http://localhost:1", None, "b"), ("http://localhost:1", Some(8), "a"), ("", None, "a")]
        {
            assert_ne!(keys.key("a"), TextKeys::new(host, dimensions).key(text));
        }
    }
}
