//! A whole conversation as a file to keep, piece by piece, so that a long one is never in memory at once.

use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::session::{SessionSummary, Transcripts};

use super::markdown;
use super::message::{Message, Rendering};

/// How many messages are read at once.
const STEP: usize = 50;

/// The form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The session and its messages as `GET /api/sessions/{id}` has them, without HTML.
    Json,
    /// For people.
    Markdown,
}

impl Format {
    /// The format that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// An export under way.
pub struct Export {
    transcripts: Arc<dyn Transcripts>,
    session: SessionSummary,
    format: Format,
    /// The steps that are still to be read, the last one first: each ends before this message.
    steps: Vec<Option<MessageId>>,
    stage: Stage,
}

enum Stage {
    Opening,
    /// Whether a message was written before.
    Messages {
        is_first: bool,
    },
    Over,
}

impl Export {
    /// Begins the export of a session; `None` when there is none.
    pub async fn open(
        transcripts: Arc<dyn Transcripts>,
        id: &SessionId,
        format: Format,
    ) -> Result<Option<Self>> {
        let Some(session) = transcripts.session(id).await? else { return Ok(None) };
        // Transcripts are read from their end, so the first pass only finds where each step ends.
        let mut steps = vec![None];
        loop {
            let before = steps.last().copied().flatten();
            let step = transcripts.messages(id, before, STEP).await?;
            match step.first() {
                // A page of large messages is short, so only an empty one is the last.
                Some(first) => steps.push(Some(first.id)),
                None => break,
            }
        }
        Ok(Some(Self { transcripts, session, format, steps, stage: Stage::Opening }))
    }

    /// The next piece of the file; `None` at its end.
    pub async fn next(&mut self) -> Result<Option<String>> {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Messages { is_first: true };
                self.opening().map(Some)
            }
            Stage::Messages { is_first } => match self.steps.pop() {
                Some(before) => self.step(before, is_first).await.map(Some),
                None => {
                    self.stage = Stage::Over;
                    Ok((self.format == Format::Json).then(|| "]}".to_owned()))
                }
            },
            Stage::Over => Ok(None),
        }
    }

    /// The whole file at once.
    pub async fn whole(mut self) -> Result<String> {
        let mut text = String::new();
        while let Some(piece) = self.next().await? {
            text.push_str(&piece);
        }
        Ok(text)
    }

    fn opening(&self) -> Result<String> {
        match self.format {
            Format::Markdown => Ok(markdown::title(&self.session.title)),
            Format::Json => {
                let mut text = json(&self.session)?;
                // The object stays open for its messages.
                text.pop();
                text.push_str(",\"messages\":[");
                Ok(text)
            }
        }
    }

    async fn step(&mut self, before: Option<MessageId>, is_first: bool) -> Result<String> {
        let messages = self.transcripts.messages(&self.session.session_id, before, STEP).await?;
        self.stage = Stage::Messages { is_first: is_first && messages.is_empty() };
        let mut text = String::new();
        for (at, message) in messages.into_iter().enumerate() {
            let message = Message::new(message, Rendering::Source);
            match self.format {
                Format::Markdown => markdown::push_message(&mut text, &message),
                Format::Json => {
                    let comma = if is_first && at == 0 { "" } else { "," };
                    text.push_str(comma);
                    text.push_str(&json(&message)?);
                }
            }
        }
        Ok(text)
    }
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal("the conversation could not be written as JSON").because(error))
}
