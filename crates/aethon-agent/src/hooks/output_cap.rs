//! Cuts tool output that is too long for a model: head and tail stay, a line between them says what is gone.

use aethon_core::hook::Hook;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::ToolContext;
use async_trait::async_trait;

/// The cap on tool output. The number of characters comes with the call: [`ToolContext::max_output_chars`].
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputCap;

#[async_trait]
impl Hook for OutputCap {
    fn name(&self) -> &'static str {
        "output_cap"
    }

    async fn after_tool(&self, context: &ToolContext, _call: &ToolCall, result: &mut ToolResult) {
        if let Some(capped) = cap(&result.output, context.max_output_chars) {
            result.output = capped;
        }
    }
}

/// The text in at most `limit` characters (and the line that says what was cut); `None` when it fits.
pub fn cap(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let chars = text.chars().count();
    if chars <= limit {
        return None;
    }
    // Beginnings say more than ends, but errors stand at the end.
    let head_chars = limit * 2 / 3;
    let tail_chars = limit - head_chars;
    let head_end = text.char_indices().nth(head_chars).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().nth(chars - tail_chars).map_or(text.len(), |(at, _)| at);
    let cut = chars - limit;
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    Some(format!(
        "{head}\n[... {cut} of {chars} characters were cut here: agent.max_tool_output_chars ...]\n{tail}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_and_the_cut_is_told() {
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
