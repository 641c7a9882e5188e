//! Conversations as Markdown, for the export and the terminal.

use std::fmt::Write as _;

use aethon_core::message::Role;
use aethon_core::tool::OutputBlock;
use serde::Deserialize;

use super::message::{Block, Message};

/// The parts of a conversation document that are needed: title and messages.
#[derive(Debug, Deserialize)]
pub struct Transcript {
    /// The title.
    pub title: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// Converts a transcript to Markdown.
pub fn transcript(transcript: &Transcript) -> String {
    let mut text = title(&transcript.title);
    for message in &transcript.messages {
        push_message(&mut text, message);
    }
    text
}

/// Returns the heading of a conversation.
pub(super) fn title(title: &str) -> String {
    format!("# {}\n", title.replace(['\n', '\r'], " "))
}

/// Appends a message under its own heading.
pub(super) fn push_message(out: &mut String, message: &Message) {
    let who = match message.role {
        Role::User => "You",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
        Role::System => "Note",
    };
    // Writing to a string cannot fail.
    let _ = write!(out, "\n## {who} · {}\n", message.created_at);
    for block in &message.content {
        out.push('\n');
        push_block(out, block);
        out.push('\n');
    }
}

fn push_block(out: &mut String, block: &Block) {
    match block {
        Block::Text { text, .. } => out.push_str(text),
        Block::Image { mime, .. } => out.push_str(&format!("*(image, {mime})*")),
        Block::File { name, text, .. } => out.push_str(&format!("`{name}`\n\n{}", fenced(text))),
        Block::Reasoning { text, .. } => out.push_str(&format!("> {}", text.replace('\n', "\n> "))),
        Block::Search { query, sources } => {
            out.push_str(&format!("Searched the web:\n\n{}", fenced(query)));
            sources.iter().for_each(|source| out.push_str(&format!("\n- {}", source.link())));
        }
        Block::ToolCall { name, input, .. } => {
            out.push_str(&format!("Calls `{name}`:\n\n{}", fenced(&input.to_string())));
        }
        Block::ToolResult { name, output, blocks, .. } => {
            out.push_str(&format!("`{name}` answered:\n\n{}", fenced(output)));
            blocks.iter().for_each(|block| push_output(out, block));
        }
        Block::Notice { text, .. } => out.push_str(&format!("*{text}*")),
        Block::Context { source, text } => {
            out.push_str(&format!("*Context from {source}:*\n\n{}", fenced(text)));
        }
        Block::Folded { messages, summary, .. } => {
            out.push_str(&format!("*{messages} older messages, summarised for the model:*\n\n{summary}"));
        }
    }
}

/// Appends output of a tool that is not text.
fn push_output(out: &mut String, block: &OutputBlock) {
    match block {
        OutputBlock::Text { text } => out.push_str(&format!("\n\n{}", fenced(text))),
        OutputBlock::Image { mime, .. } => out.push_str(&format!("\n\n*(image, {mime})*")),
        OutputBlock::File { name, text, .. } => out.push_str(&format!("\n\n`{name}`\n\n{}", fenced(text))),
    }
}

/// Wraps text in a code block with a fence longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_cannot_close_its_fence() {
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````");
        assert_eq!(fenced("plain"), "```\nplain\n```");
    }

    #[test]
    fn a_document_of_the_interface_reads_as_markdown() {
        let document = json!({
            "session_id": "webchat:a",
            "title": "Two\nlines",
            "busy": false,
            "messages": [
                {"id": "1", "role": "user", "content": [{"type": "text", "text": "List."}],
                    "created_at": "2026-11-20T10:00:00.000Z", "model": null, "usage": null, "turn": "t",
                    "stop_reason": null},
                {"id": "3", "role": "system", "content": [
                    {"type": "context", "source": "memory", "text": "She likes tea."}],
                    "created_at": "2026-11-20T10:00:00.500Z", "model": null, "usage": null, "turn": "t",
                    "stop_reason": null},
                {"id": "2", "role": "assistant", "content": [
                    {"type": "tool_call", "id": "c", "name": "shell", "input": {"command": "ls"}},
                    {"type": "text", "text": "Done.", "html": ["<p>Done.</p>"]}],
                    "created_at": "2026-11-20T10:00:01.000Z", "model": "m", "usage": null, "turn": "t",
                    "stop_reason": "end"},
            ],
        });
        let text = transcript(&serde_json::from_value(document).unwrap());
        let expected = "# Two lines\n\n## You · 2026-11-20T10:00:00.000Z\n\nList.\n\n\
            ## Note · 2026-11-20T10:00:00.500Z\n\n*Context from memory:*\n\n```\nShe likes tea.\n```\n\n\
            ## Assistant · 2026-11-20T10:00:01.000Z\n\nCalls `shell`:\n\n```\n{\"command\":\"ls\"}\n```\n\nDone.\n";
        assert_eq!(text, expected);
    }
}
