//! A whole conversation as a file, produced piece by piece, so that a long one never has to fit in memory.

use std::sync::Arc;

use aethon_core::error::{Error, Result};
use aethon_core::history::{Aside, History};
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::session::{SessionSummary, Transcripts};
use schemars::JsonSchema;
use serde::Deserialize;

use super::markdown;
use super::message::{Message, Rendering};

/// How many messages are read at a time.
const STEP: usize = 50;

/// The format of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Format {
    /// The session and its messages as in `GET /api/sessions/{id}`, without HTML.
    #[default]
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
    /// Where the versions that are put aside are read from, if they are wanted.
    versions: Option<Arc<dyn History>>,
}

enum Stage {
    Opening,
    /// The opening before the messages was returned, and it is not known where their steps end.
    Finding,
    /// Whether no message was written yet.
    Messages {
        is_first: bool,
    },
    /// The versions that are put aside, from behind this message on.
    Aside {
        after: Option<MessageId>,
        branch: Option<MessageId>,
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
        // Storage that cannot be read refuses the export while it still has a status.
        let newest = transcripts.messages(id, None, STEP).await?;
        let steps = newest.first().map_or_else(|| vec![None], |first| vec![None, Some(first.id)]);
        Ok(Some(Self { transcripts, session, format, steps, stage: Stage::Opening, versions: None }))
    }

    /// Adds the versions of answers and questions that are not part of the conversation now.
    #[must_use]
    pub fn with_versions(self, history: Arc<dyn History>) -> Self {
        Self { versions: Some(history), ..self }
    }

    /// Returns the next piece of the file, or `None` at its end.
    pub async fn next(&mut self) -> Result<Option<String>> {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Finding;
                self.opening().map(Some)
            }
            Stage::Finding => {
                self.find_steps().await?;
                self.stage = Stage::Messages { is_first: true };
                Ok(Some(String::new()))
            }
            Stage::Messages { is_first } => match self.steps.pop() {
                Some(before) => self.step(before, is_first).await.map(Some),
                None => {
                    let is_whole = self.versions.is_none();
                    self.stage =
                        if is_whole { Stage::Over } else { Stage::Aside { after: None, branch: None } };
                    Ok(Some(match self.format {
                        Format::Markdown => String::new(),
                        Format::Json if is_whole => "]}".to_owned(),
                        Format::Json => "],\"other_versions\":[".to_owned(),
                    }))
                }
            },
            Stage::Aside { after, branch } => self.aside(after, branch).await.map(Some),
            Stage::Over => Ok(None),
        }
    }

    /// Finds where each step ends: transcripts are read backwards. That takes as long as half of the export, so the client has
    /// its answer by then.
    async fn find_steps(&mut self) -> Result<()> {
        while let Some(before) = self.steps.last().copied().flatten() {
            let step = self.transcripts.messages(&self.session.session_id, Some(before), STEP).await?;
            // A page of large messages is short, so only an empty page is the last.
            let Some(first) = step.first() else { break };
            self.steps.push(Some(first.id));
        }
        Ok(())
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

    /// Returns the next messages that are put aside, each branch under a heading or in an array of its own.
    async fn aside(&mut self, after: Option<MessageId>, branch: Option<MessageId>) -> Result<String> {
        let Some(history) = self.versions.clone() else { return Ok(String::new()) };
        let page = history.aside(&self.session.session_id, after, STEP).await?;
        let Some(last) = page.last() else {
            self.stage = Stage::Over;
            return Ok(match (self.format, branch) {
                (Format::Markdown, _) => String::new(),
                (Format::Json, None) => "]}".to_owned(),
                (Format::Json, Some(_)) => "]]}".to_owned(),
            });
        };
        self.stage = Stage::Aside { after: Some(last.message.id), branch: Some(last.branch) };
        let mut text = String::new();
        let mut open = branch;
        for Aside { branch, message } in page {
            let message = Message::new(message, Rendering::Source);
            let begins = open != Some(branch);
            match self.format {
                Format::Markdown if begins => text.push_str("\n---\n\n*Another version:*\n"),
                Format::Json => text.push_str(match (begins, open) {
                    (true, None) => "[",
                    (true, Some(_)) => "],[",
                    (false, _) => ",",
                }),
                Format::Markdown => {}
            }
            match self.format {
                Format::Markdown => markdown::push_message(&mut text, &message),
                Format::Json => text.push_str(&json(&message)?),
            }
            open = Some(branch);
        }
        Ok(text)
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
