//! Cuts tool output that is too long for a model: its head and tail stay, with a line in between that names the
//! missing part and how to read it. The stored output has passed the earlier hooks, so secrets are masked in it as
//! well.

use std::sync::Arc;

use aethon_core::hook::Hook;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::{OutputStore, ToolContext, find_left_out};
use async_trait::async_trait;

/// The cap on tool output. The limit comes with each call: [`ToolContext::max_output_chars`].
#[derive(Clone, Default)]
pub struct OutputCap {
    /// Where long output is kept in full; without it, the removed part is lost.
    store: Option<Arc<dyn OutputStore>>,
}

impl OutputCap {
    /// Creates a cap that keeps the full output in this store.
    pub fn keeping(store: Arc<dyn OutputStore>) -> Self {
        Self { store: Some(store) }
    }

    /// Returns how a model can get the rest.
    async fn remedy(&self, context: &ToolContext, output: &str) -> String {
        // Of a temporary session nothing is kept in a file.
        let store = self.store.as_ref().filter(|_| !context.session.is_temporary());
        let Some(store) = store else { return KEY.to_owned() };
        match store.keep(&context.session, context.trust(), output).await {
            Ok(handle) => {
                let whole = match find_left_out(output) {
                    None => "all of it".to_owned(),
                    Some(gone) => format!("it, but for {gone} that were left out before"),
                };
                format!("`file_read` with path \"{handle}\" has {whole}")
            }
            Err(error) => {
                tracing::warn!(%error, "long tool output could not be kept; the middle of it is lost");
                KEY.to_owned()
            }
        }
    }
}

#[async_trait]
impl Hook for OutputCap {
    fn name(&self) -> &'static str {
        "output_cap"
    }

    async fn after_tool(&self, context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        let Some(cut) = Cut::of(&result.output, context.max_output_chars) else { return };
        let remedy = self.remedy(context, &result.output).await;
        result.output = cut.render(&remedy);
    }
}

/// The setting to name if the output is not kept.
const KEY: &str = "agent.max_tool_output_chars";

/// Cuts a text to at most `limit` characters, plus the line that names the removed part; `None` if it fits.
pub fn cap(text: &str, limit: usize) -> Option<String> {
    Cut::of(text, limit).map(|cut| cut.render(KEY))
}

/// The remaining parts of a text that is too long.
struct Cut<'t> {
    head: &'t str,
    tail: &'t str,
    /// How many characters were cut.
    gone: usize,
    /// How many there were.
    of: usize,
}

impl<'t> Cut<'t> {
    fn of(text: &'t str, limit: usize) -> Option<Self> {
        if text.len() <= limit {
            return None;
        }
        let chars = text.chars().count();
        if chars <= limit {
            return None;
        }
        // Beginnings say more than ends, but errors are at the end.
        let head_chars = limit * 2 / 3;
        let tail_chars = limit - head_chars;
        let head_end = text.char_indices().nth(head_chars).map_or(text.len(), |(at, _)| at);
        let tail_start = text.char_indices().nth(chars - tail_chars).map_or(text.len(), |(at, _)| at);
        Some(Self { head: &text[..head_end], tail: &text[tail_start..], gone: chars - limit, of: chars })
    }

    fn render(&self, remedy: &str) -> String {
        let Self { head, tail, gone, of } = self;
        format!("{head}\n[... {gone} of {of} characters were cut here: {remedy} ...]\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_head_and_tail_and_notes_the_cut() {
        let check = |text: &str, limit: usize, expected: Option<(&str, &str)>| {
            let capped = cap(text, limit);
            match (&capped, expected) {
                (Some(capped), Some((head, tail))) => {
                    assert!(capped.starts_with(head) && capped.ends_with(tail), "{capped}");
                    assert!(capped.contains("characters were cut here"), "{capped}");
                }
                (capped, expected) => assert_eq!(capped.is_some(), expected.is_some(), "{text}"),
            }
        };
        check("short", 5, None);
        check("ünïçö", 5, None);
        check("0123456789", 6, Some(("0123\n", "\n89")));
        check("äöüäöüäöü", 3, Some(("äö\n", "\nü")));
        check("x", 0, Some(("\n", "\n")));
    }
}
