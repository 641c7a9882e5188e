//! `/model` in a chat: shows and chooses the model of a conversation, without a model call.
//!
//! Only an owner chooses: a model costs money, and what was said here goes to its service.

use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Handling, Inbound, Intent};
use aethon_core::model_choice::{ModelChoices, ModelSource, OfferedModel};
use aethon_core::session::{SessionPatch, Transcripts};
use aethon_core::version::Expected;
use async_trait::async_trait;

use crate::commands::{Claim, CommandHandler};

/// The command.
const COMMAND: &str = "/model";

/// The word for the configured model.
const DEFAULT: &str = "default";

/// How many models of the service are listed.
const LISTED: usize = 20;

const NOT_YOURS: &str = "Only an owner can choose the model here.";

/// Answers the command. Cheap to clone.
#[derive(Clone)]
pub struct ModelCommand {
    choices: Arc<dyn ModelChoices>,
    transcripts: Arc<dyn Transcripts>,
}

impl ModelCommand {
    /// The command for these models and conversations.
    pub fn new(choices: Arc<dyn ModelChoices>, transcripts: Arc<dyn Transcripts>) -> Self {
        Self { choices, transcripts }
    }

    /// Returns what follows the command; `None` for any other message.
    fn argument(inbound: &Inbound) -> Option<&str> {
        let is_plain = inbound.intent == Intent::Say
            && inbound.handling == Handling::Model
            && !inbound.is_from_outside();
        let rest = inbound.text.trim().strip_prefix(COMMAND).filter(|_| is_plain)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
    }

    /// Returns the model that a conversation has chosen.
    async fn chosen(&self, session: &SessionId) -> Result<Option<String>> {
        Ok(self.transcripts.session(session).await?.and_then(|session| session.settings.turns.model))
    }

    async fn overview(&self, session: &SessionId) -> Result<String> {
        let (offered, configured) = (self.choices.offered().await, self.choices.current());
        let now = match self.chosen(session).await? {
            Some(chosen) if self.choices.check(&chosen).await.is_err() => format!(
                "This conversation chose `{chosen}`, which is not configured any more; the configured model, `{configured}`, \
                 answers."
            ),
            Some(chosen) => format!("This conversation uses `{chosen}`."),
            None => format!("This conversation uses the configured model, `{configured}`."),
        };
        if offered.is_empty() {
            return Ok(format!("{now} No other can be chosen."));
        }
        let (mut lines, mut more) = (Vec::new(), 0);
        let mut of_service = 0;
        for model in &offered {
            let is_listed = matches!(model.source, ModelSource::Service | ModelSource::Catalog);
            of_service += usize::from(is_listed);
            if is_listed && of_service > LISTED {
                more += 1;
            } else {
                lines.push(line(model));
            }
        }
        let more = match more {
            0 => String::new(),
            more => format!("\n\nThe service has {more} more; any of them can be chosen by its id."),
        };
        Ok(format!(
            "{now}\n\n{}{more}\n\n`/model NAME` chooses one, `/model {DEFAULT}` goes back to the configured one.",
            lines.join("\n")
        ))
    }

    /// Sets the model of a conversation, if it exists by now.
    async fn set(&self, session: &SessionId, model: Option<String>) -> Result<bool> {
        self.transcripts.patch(session, &SessionPatch::model(model), Expected::Anything).await
    }
}

fn line(model: &OfferedModel) -> String {
    let mut about = Vec::new();
    if model.id != model.model_id {
        about.push(model.model_id.clone());
    }
    if let Some(window) = model.context_window {
        about.push(format!("{window} tokens"));
    }
    if let Some(price) = model.prices {
        about.push(format!("{} and {} USD per million", price.input, price.output));
    }
    match about.is_empty() {
        true => format!("- `{}`", model.id),
        false => format!("- `{}`: {}", model.id, about.join(", ")),
    }
}

#[async_trait]
impl CommandHandler for ModelCommand {
    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>> {
        let Some(name) = Self::argument(inbound).map(str::to_owned) else { return Ok(None) };
        let session = inbound.session.clone();
        let mut choosing = None;
        let answer = if !inbound.trust().is_owner() {
            NOT_YOURS.to_owned()
        } else if name.is_empty() {
            self.overview(&session).await?
        } else if name == DEFAULT {
            choosing = Some(None);
            format!("From now on the configured model, `{}`, answers here.", self.choices.current())
        } else {
            match self.choices.check(&name).await {
                Ok(()) => {
                    choosing = Some(Some(name.clone()));
                    format!("From now on `{name}` answers here.")
                }
                Err(error) => format!("{}.", capitalised(&error.to_string())),
            }
        };
        inbound.handling = Handling::Program { answer };
        let mut claim = Choosing { command: self.clone(), session, model: choosing, before: None };
        claim.apply_if_session_exists().await?;
        Ok(Some(Box::new(claim)))
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A choice that is being made.
struct Choosing {
    command: ModelCommand,
    session: SessionId,
    /// The choice; `None` if the message only asked.
    model: Option<Option<String>>,
    /// The choice before it, if the new one is stored already.
    before: Option<Option<String>>,
}

impl Choosing {
    /// Stores the choice before its message, so that no crash parts the answer from what it says. A conversation that
    /// begins with the command gets it once it exists.
    async fn apply_if_session_exists(&mut self) -> Result<()> {
        let Some(model) = self.model.clone() else { return Ok(()) };
        let before = self.command.chosen(&self.session).await?;
        if self.command.set(&self.session, model).await? {
            self.before = Some(before);
        }
        Ok(())
    }
}

#[async_trait]
impl Claim for Choosing {
    async fn confirm(self: Box<Self>, _turn: &TurnId) -> Result<()> {
        if let (Some(model), None) = (self.model.clone(), &self.before) {
            self.command.set(&self.session, model).await?;
        }
        Ok(())
    }

    async fn undo(self: Box<Self>) -> Result<()> {
        if let Some(before) = self.before.clone() {
            self.command.set(&self.session, before).await?;
        }
        Ok(())
    }
}
