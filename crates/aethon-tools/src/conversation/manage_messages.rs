//! `manage_messages`: read-only access to the stored messages of this conversation: their number, a list, or one
//! message in full.

use std::fmt::Write as _;
use std::sync::Arc;

use aethon_core::ids::MessageId;
use aethon_core::message::{Block, Message, Role};
use aethon_core::session::Transcripts;
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Maximum number of messages in a list.
const MAX_COUNT: usize = 100;
/// Default number of messages in a list.
const USUAL: usize = 20;
/// Maximum characters shown of a message in a list.
const BRIEF: usize = 160;

/// Looks at the conversation.
pub(crate) struct ManageMessages {
    spec: ToolSpec,
    transcripts: Arc<dyn Transcripts>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Sum the conversation up in numbers, list its messages, or show one whole.
    action: Action,
    /// The number of the message to show.
    #[schemars(range(min = 1))]
    message: Option<i64>,
    /// List the messages before this number. Leave it out for the newest.
    #[schemars(range(min = 1))]
    before: Option<i64>,
    /// How many to list. Leave it out for 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Action {
    Count,
    List,
    Show,
}

impl ManageMessages {
    pub(crate) fn new(transcripts: Arc<dyn Transcripts>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "manage_messages",
            "Looks at what is kept of this conversation: how many messages, which they are, and one of them whole. It \
             changes nothing. To find words use search_history.",
        )
        .reading_only()
        .open_to(Trust::Guest)
        .with_untrusted_output();
        Self { spec, transcripts }
    }

    async fn count(&self, context: &ToolContext) -> Result<String, ToolError> {
        let session = self.transcripts.session(&context.session).await.map_err(|error| failed(&error))?;
        let Some(session) = session else { return Ok("nothing is kept of this conversation yet".into()) };
        let (count, title) = (session.message_count, session.title);
        let (begun, changed) = (session.created_at, session.updated_at);
        Ok(format!(
            "{count} messages in the conversation {} ({title:?}), begun {}, last changed {}",
            context.session,
            begun.strftime("%Y-%m-%d %H:%M UTC"),
            changed.strftime("%Y-%m-%d %H:%M UTC")
        ))
    }

    async fn list(
        &self,
        context: &ToolContext,
        before: Option<i64>,
        limit: usize,
    ) -> Result<String, ToolError> {
        let before = before.map(MessageId);
        let messages = self
            .transcripts
            .messages(&context.session, before, limit)
            .await
            .map_err(|error| failed(&error))?;
        let Some(first) = messages.first() else { return Ok("there are no messages before".into()) };
        let mut text = String::new();
        for message in &messages {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", line(message));
        }
        let _ = writeln!(text, "[earlier ones: before {}]", first.id.0);
        Ok(text)
    }

    async fn show(&self, context: &ToolContext, number: i64) -> Result<String, ToolError> {
        // The page before the next id ends with this message, if it belongs to this conversation.
        let before = Some(MessageId(number.saturating_add(1)));
        let found =
            self.transcripts.messages(&context.session, before, 1).await.map_err(|error| failed(&error))?;
        match found.iter().find(|message| message.id == MessageId(number)) {
            Some(message) => Ok(format!("{}\n\n{}", heading(message), whole(message))),
            None => Err(ToolError::failed(format!("there is no message {number} in this conversation"))),
        }
    }
}

#[async_trait]
impl Tool for ManageMessages {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { action, message, before, limit } = self.spec.parse(input)?;
        let limit = limit.unwrap_or(USUAL).clamp(1, MAX_COUNT);
        let text = match (action, message) {
            (Action::Count, _) => self.count(context).await?,
            (Action::List, _) => self.list(context, before, limit).await?,
            (Action::Show, Some(number)) => self.show(context, number).await?,
            (Action::Show, None) => {
                return Err(ToolError::failed("say which with `message`; list tells the numbers"));
            }
        };
        Ok(ToolOutput::text(text))
    }
}

fn failed(error: &aethon_core::error::Error) -> ToolError {
    tracing::warn!(%error, "the conversation could not be read");
    ToolError::failed("the conversation could not be read, because the storage failed; go on without it")
}

fn heading(message: &Message) -> String {
    let who = match message.role {
        Role::User => "the person",
        Role::Assistant => "you",
        Role::Tool => "tools",
        Role::System => "the program",
    };
    format!("message {}, {who}, {}", message.id.0, message.created_at.strftime("%Y-%m-%d %H:%M UTC"))
}

fn line(message: &Message) -> String {
    let text = whole(message).split_whitespace().collect::<Vec<_>>().join(" ");
    let brief: String = text.chars().take(BRIEF).collect();
    let more = if text.chars().nth(BRIEF).is_some() { "…" } else { "" };
    format!("{}: {brief}{more}", heading(message))
}

/// Returns the full content of a message, including calls and their results.
fn whole(message: &Message) -> String {
    let part = |block: &Block| match block {
        Block::Text { text, .. } => Some(text.clone()),
        Block::File { name, text, .. } => Some(format!("[file {name:?}]\n{text}")),
        Block::Image { mime, .. } => Some(format!("[picture {mime}]")),
        Block::ToolCall(call) => Some(format!("[call of {}: {}]", call.name, call.input)),
        Block::ToolResult(result) => Some(format!("[result of {}]\n{}", result.name, result.output)),
        Block::Folded { messages, summary, .. } => {
            Some(format!("[summary of {messages} messages]\n{summary}"))
        }
        _ => None,
    };
    message.content.iter().filter_map(part).collect::<Vec<_>>().join("\n")
}
