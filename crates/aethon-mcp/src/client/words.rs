//! Untrusted text inside our own sentences.

use aethon_core::untrusted::{defuse, shortened_between_words};

/// Reduces untrusted text to one short, defused line, from which secrets are removed later.
pub(super) fn brief(text: &str) -> String {
    let line: String = defuse(text).split_whitespace().collect::<Vec<_>>().join(" ");
    shortened_between_words(line, 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_words() {
        assert_eq!(brief(" a\n b "), "a b");
        let words = "word ".repeat(58);
        assert_eq!(brief(&format!("{words}SuperSecret-0123456789")), format!("{}…", words.trim_end()));
        assert_eq!(brief(&"x".repeat(400)), format!("{}…", "x".repeat(300)));
    }
}
