//! `/work` in a chat: lists work, and pauses, continues and ends it, without a model call.
//!
//! Messages from strangers are never commands.

use aethon_core::error::Result;
use aethon_core::message::{Handling, Inbound, Intent};
use aethon_core::person::Person;
use aethon_core::work::{WorkBook as _, WorkCommand, WorkRefusal};
use async_trait::async_trait;

use super::book::Works;
use super::places::CHANNEL;
use super::tool::line;
use crate::commands::{Answered, Claim, CommandHandler};

/// The command.
const COMMAND: &str = "/work";

/// How many pieces of work are listed.
const LISTED: usize = 10;

/// Answers the command.
pub struct WorkCommands(Works);

impl WorkCommands {
    /// The command for this work.
    pub fn new(works: Works) -> Self {
        Self(works)
    }

    /// Returns the answer to a command; `None` for any other message.
    async fn answer(&self, inbound: &Inbound) -> Result<Option<String>> {
        let is_plain = inbound.intent == Intent::Say
            && inbound.handling == Handling::Model
            && !inbound.is_from_outside();
        let Some(rest) = inbound.text.trim().strip_prefix(COMMAND).filter(|_| is_plain) else {
            return Ok(None);
        };
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            return Ok(None);
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let person = &inbound.behalf.person;
        let said = match words.as_slice() {
            [] | ["list"] => Ok(self.list(person).await?),
            ["pause"] | ["resume"] if !person.is_owner() => Ok(NOT_YOURS.to_owned()),
            ["pause"] => self.0.pause(true).await.map(|()| PAUSED.to_owned()).map_err(WorkRefusal::from),
            ["resume"] => self.0.pause(false).await.map(|()| GOES_ON.to_owned()).map_err(WorkRefusal::from),
            ["pause", id] => self.command(person, id, WorkCommand::Pause).await,
            ["resume", id] => self.command(person, id, WorkCommand::Resume).await,
            ["cancel" | "stop", id] => self.command(person, id, WorkCommand::Stop).await,
            ["show", id] => self.show(person, id).await,
            _ => Ok(USAGE.to_owned()),
        };
        match said {
            Ok(said) => Ok(Some(said)),
            Err(WorkRefusal::Failed(error)) => Err(error),
            Err(refusal) => Ok(Some(refusal.to_string())),
        }
    }

    async fn list(&self, person: &Person) -> Result<String> {
        let (status, works) = (self.0.status().await?, self.0.works(false, LISTED).await?);
        let theirs = works.iter().filter(|work| person.may_see(&work.person));
        let lines: Vec<String> = theirs.map(|work| format!("- {}", line(work))).collect();
        let mut text = if lines.is_empty() { "There is no work yet.".to_owned() } else { lines.join("\n") };
        if !status.enabled {
            text.push_str("\n\nWork is switched off (`work.enabled`).");
        } else if status.paused {
            text.push_str("\n\nEverything is paused; `/work resume` continues it.");
        }
        Ok(text)
    }

    async fn command(
        &self,
        person: &Person,
        id: &str,
        command: WorkCommand,
    ) -> std::result::Result<String, WorkRefusal> {
        let work = self.0.visible(id, |work| person.may_see(&work.person)).await?;
        let work = self.0.command(&work.work_id, command).await?;
        let done = match command {
            WorkCommand::Stop => "is being ended",
            WorkCommand::Pause => "is being paused",
            WorkCommand::Resume => "continues",
        };
        Ok(format!("The work `{}` {done}.", work.work_id))
    }

    async fn show(&self, person: &Person, id: &str) -> std::result::Result<String, WorkRefusal> {
        let work = self.0.visible(id, |work| person.may_see(&work.person)).await?;
        Ok(work.receipt.clone().unwrap_or_else(|| super::brief::pulse(&work)))
    }
}

const PAUSED: &str =
    "All work is paused; `/work resume` continues it. A turn that runs is stopped within a few seconds.";
const NOT_YOURS: &str = "Only the owner pauses all work; name the piece of work that is yours.";
const GOES_ON: &str = "Work continues.";
const USAGE: &str = "Say `/work` for a list, `/work pause` or `/work resume` for everything, and `/work show ID`, \
`/work pause ID`, `/work resume ID` or `/work cancel ID` for one.";

#[async_trait]
impl CommandHandler for WorkCommands {
    async fn claim(&self, inbound: &mut Inbound) -> Result<Option<Box<dyn Claim>>> {
        if inbound.channel != CHANNEL {
            self.0.note_need();
        }
        let Some(answer) = self.answer(inbound).await? else { return Ok(None) };
        inbound.handling = Handling::Program { answer };
        Ok(Some(Box::new(Answered)))
    }
}
