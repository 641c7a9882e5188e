//! A whole conversation as a file, produced piece by piece, so that a long one never has to fit in memory.

use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::session::{SessionSummary, Transcripts};

use super::markdown;
use super::message::{Message, Rendering};

/// How many messages are read at a time.
const STEP: usize = 50;

/// The format of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The session and its messages as in `GET /api/sessions/{id}`, without HTML.
    Json,
    /// Markdown for people to read.
    Markdown,
}

impl Format {
    /// Parses the name of a format.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// An export in progress.
pub struct Export {
    transcripts: Arc<dyn Transcripts>,
    session: SessionSummary,
    format: Format,
    /// The steps that remain to be read, in reverse order. Each holds the message that its page ends before.
    steps: Vec<Option<MessageId>>,
    stage: Stage,
}

enum Stage {
    Opening,
    /// Whether no message was written yet.
    Messages {
        is_first: bool,
    },
    Over,
}

impl Export {
    /// Starts the export of a session. Returns `None` if there is no such session.
    pub async fn open(
        transcripts: Arc<dyn Transcripts>,
        id: &SessionId,
        format: Format,
    ) -> Result<Option<Self>> {
        let Some(session) = transcripts.session(id).await? else { return Ok(None) };
        // Transcripts are read backwards, so a first pass finds where each step ends.
        let mut steps = vec![None];
        loop {
            let before = steps.last().copied().flatten();
            let step = transcripts.messages(id, before, STEP).await?;
            match step.first() {
                // A page of large messages is short, so only an empty page is the last.
                Some(first) => steps.push(Some(first.id)),
                None => break,
            }
        }
        Ok(Some(Self { transcripts, session, format, steps, stage: Stage::Opening }))
    }

    /// Returns the next piece of the file, or `None` at its end.
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

    /// Returns the whole file.
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
                // Keep the object open for its messages.
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
