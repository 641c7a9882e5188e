//! Untrusted text inside our own sentences.

/// Reduces untrusted text to one short, defused line. It is cut between words: secrets are removed later, and a part of one would
/// not be recognised.
pub(super) fn brief(text: &str) -> String {
    let line: String = aethon_core::untrusted::defuse(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..line[..at].rfind(' ').unwrap_or(at)]),
        None => line,
    }
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
