//! Untrusted text inside our own sentences.

/// Reduces untrusted text to one short, defused line.
pub(super) fn brief(text: &str) -> String {
    let line: String = aethon_core::untrusted::defuse(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
