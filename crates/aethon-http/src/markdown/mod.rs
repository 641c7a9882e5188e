//! Markdown to safe HTML.

/// The top-level blocks of a Markdown text, each rendered to HTML.
pub fn blocks(_markdown: &str) -> Vec<String> {
    Vec::new()
}
