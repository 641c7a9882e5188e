//! `GET /api/sessions/{id}/export?format=json|markdown`: a whole conversation as a file to keep.

use std::fmt::Write as _;
use std::sync::Arc;

use aethon_core::message::{Block, Message, Role};
use aethon_core::session::SessionSummary;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use serde::Serialize;

use super::wire::{Rendering, Shown};
use super::{session_id, summary};
use crate::app::App;
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, Answer};

/// How many messages are read at once.
const STEP: usize = 1000;
/// How many messages a file holds at most: the newest.
const MOST: usize = 100_000;

#[derive(Serialize)]
struct Export {
    #[serde(flatten)]
    session: SessionSummary,
    messages: Vec<Shown>,
}

/// The conversation as a file.
pub(crate) async fn export(app: Arc<App>, request: Request) -> Answer {
    let id = session_id(&request)?;
    let format = request.query("format").unwrap_or_else(|| "json".into());
    if !matches!(format.as_str(), "json" | "markdown") {
        return Err(Problem::invalid("format", "must be json or markdown"));
    }
    let session = summary(&app, &id).await?;
    let mut steps: Vec<Vec<Message>> = Vec::new();
    let mut count = 0;
    loop {
        let before = steps.last().and_then(|step| step.first()).map(|message| message.id);
        let step = app.deps.transcripts.messages(&id, before, STEP).await?;
        count += step.len();
        let is_last = step.len() < STEP || count >= MOST;
        steps.push(step);
        if is_last {
            break;
        }
    }
    let messages = steps.into_iter().rev().flatten();
    let name = file_name(id.as_str());
    let (mut answer, extension) = if format == "json" {
        let messages = messages.map(|message| Shown::new(message, Rendering::Source)).collect();
        (response::json(&Export { session, messages })?, "json")
    } else {
        let mut answer = response::json_bytes(markdown(&session, messages));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/markdown; charset=utf-8"));
        (answer, "md")
    };
    let disposition = format!("attachment; filename=\"{name}.{extension}\"");
    let disposition = HeaderValue::try_from(disposition).unwrap_or(HeaderValue::from_static("attachment"));
    answer.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    Ok(answer)
}

/// A name of plain characters, whatever the session is called.
fn file_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    id.chars().map(plain).take(80).collect()
}

fn markdown(session: &SessionSummary, messages: impl Iterator<Item = Message>) -> String {
    let mut text = format!("# {}\n", session.title.replace(['\n', '\r'], " "));
    for message in messages {
        let who = match message.role {
            Role::User => "You",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
            Role::System => "Note",
        };
        // Writing into a string does not fail.
        let _ = write!(text, "\n## {who} · {}\n", aethon_core::time::text(message.created_at));
        for block in &message.content {
            text.push('\n');
            push_block(&mut text, block);
            text.push('\n');
        }
    }
    text
}

fn push_block(out: &mut String, block: &Block) {
    match block {
        Block::Text { text, .. } => out.push_str(text),
        Block::Image { mime, .. } => out.push_str(&format!("*(image, {mime})*")),
        Block::File { name, text, .. } => out.push_str(&format!("`{name}`\n\n{}", fenced(text))),
        Block::Reasoning { text, .. } => out.push_str(&format!("> {}", text.replace('\n', "\n> "))),
        Block::ToolCall(call) => {
            out.push_str(&format!("Calls `{}`:\n\n{}", call.name, fenced(&call.input.to_string())));
        }
        Block::ToolResult(result) => {
            out.push_str(&format!("`{}` answered:\n\n{}", result.name, fenced(&result.output)));
        }
        Block::Notice { text, .. } => out.push_str(&format!("*{text}*")),
        Block::Folded { messages, summary, .. } => {
            out.push_str(&format!("*{messages} older messages, summarised for the model:*\n\n{summary}"));
        }
    }
}

/// The text as a code block that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_plain_whatever_the_session_is_called() {
        assert_eq!(file_name("webchat:default"), "webchat-default");
        assert_eq!(file_name("webchat:a\"b/../c\u{e9}"), "webchat-a-b----c-");
        assert!(file_name(&"x".repeat(500)).len() <= 80);
    }

    #[test]
    fn text_cannot_close_its_fence() {
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````");
        assert_eq!(fenced("plain"), "```\nplain\n```");
    }
}
