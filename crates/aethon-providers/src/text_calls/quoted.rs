//! Detects calls that merely repeat words of a tool, a document or a person. Someone who can put words into a
//! model's mouth must not be able to have them run.

use std::sync::Arc;

use aethon_core::message::{Block, Message, Role};

use super::call::TextCall;

/// Returns whether the text of one of the calls occurs in a message that the model did not write. Whitespace and
/// backslashes are ignored, so that neither reformatting nor JSON inside JSON hides a quotation.
pub(super) fn is_quotation(calls: &[TextCall], messages: &[Arc<Message>]) -> bool {
    let sources: Vec<String> = calls.iter().map(|call| bare(&call.source)).collect();
    let foreign = messages.iter().filter(|message| message.role != Role::Assistant);
    let mut texts = foreign.flat_map(|message| &message.content).filter_map(text_of).map(bare);
    texts.any(|text| sources.iter().any(|source| !source.is_empty() && text.contains(source)))
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, .. } | Block::File { text, .. } => Some(text),
        Block::ToolResult(result) => Some(&result.output),
        _ => None,
    }
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
}
