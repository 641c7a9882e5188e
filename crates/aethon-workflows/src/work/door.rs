//! `/work` in a chat: lists work, and pauses, continues and ends it, without a model call.
//!
//! It stands in front of the SOP door, so it hears the owner first; messages from strangers pass it by.

use std::sync::Arc;

use aethon_core::assistant::{ActiveTurn, Assistant, Posting, Submitted};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Handling, Inbound, Intent};
use aethon_core::person::Person;
use aethon_core::session::Clear;
use aethon_core::surface::Surface;
use aethon_core::work::{WorkBook as _, WorkRefusal, WorkWish};
use async_trait::async_trait;

use super::book::Works;
use super::places::CHANNEL;
use super::tool::line;

/// The command.
const COMMAND: &str = "/work";

/// How many pieces of work are listed.
const LISTED: usize = 10;

/// The door.
pub struct WorkDoor {
    inner: Arc<dyn Assistant>,
    works: Works,
}

impl WorkDoor {
    /// Places the door in front of this assistant.
    pub fn new(inner: Arc<dyn Assistant>, works: Works) -> Self {
        Self { inner, works }
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
            ["pause"] => self.works.pause(true).await.map(|()| PAUSED.to_owned()).map_err(WorkRefusal::from),
            ["resume"] => {
                self.works.pause(false).await.map(|()| GOES_ON.to_owned()).map_err(WorkRefusal::from)
            }
            ["pause", id] => self.wish((person, id), WorkWish::Pause).await,
            ["resume", id] => self.wish((person, id), WorkWish::Resume).await,
            ["cancel" | "stop", id] => self.wish((person, id), WorkWish::Stop).await,
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
        let (status, works) = (self.works.status().await?, self.works.works(false, LISTED).await?);
        let theirs = works.iter().filter(|work| person.may_see(&work.person));
        let lines: Vec<String> = theirs.map(|work| format!("- {}", line(work))).collect();
        let mut text = if lines.is_empty() { "There is no work yet.".to_owned() } else { lines.join("\n") };
        if !status.enabled {
            text.push_str("\n\nWork is switched off (`work.enabled`).");
        } else if status.paused {
            text.push_str("\n\nEverything is paused; `/work resume` goes on.");
        }
        Ok(text)
    }

    async fn wish(
        &self,
        (person, id): (&Person, &str),
        wish: WorkWish,
    ) -> std::result::Result<String, WorkRefusal> {
        let work = self.works.visible(id, |work| person.may_see(&work.person)).await?;
        let work = self.works.wish(&work.work_id, wish).await?;
        let done = match wish {
            WorkWish::Stop => "is being ended",
            WorkWish::Pause => "is being paused",
            WorkWish::Resume => "goes on",
        };
        Ok(format!("The work `{}` {done}.", work.work_id))
    }

    async fn show(&self, person: &Person, id: &str) -> std::result::Result<String, WorkRefusal> {
        let work = self.works.visible(id, |work| person.may_see(&work.person)).await?;
        Ok(work.receipt.clone().unwrap_or_else(|| super::brief::pulse(&work)))
    }
}

const PAUSED: &str =
    "All work is paused; `/work resume` goes on. A turn that runs is stopped within a few seconds.";
const NOT_YOURS: &str = "Only the owner pauses all work; name the piece of work that is yours.";
const GOES_ON: &str = "Work goes on.";
const USAGE: &str = "Say `/work` for a list, `/work pause` or `/work resume` for everything, and `/work show ID`, \
`/work pause ID`, `/work resume ID` or `/work cancel ID` for one.";

#[async_trait]
impl Assistant for WorkDoor {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        if inbound.channel != CHANNEL {
            self.works.note_need();
        }
        match self.answer(&inbound).await? {
            Some(answer) => {
                self.inner.submit(inbound.handled_by(Handling::Program { answer }), surface).await
            }
            None => self.inner.submit(inbound, surface).await,
        }
    }

    async fn stop(&self, session: &SessionId, turn: Option<&TurnId>) -> usize {
        self.inner.stop(session, turn).await
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        self.inner.activity()
    }

    fn is_busy(&self, session: &SessionId) -> bool {
        self.inner.is_busy(session)
    }

    async fn clear(&self, session: &SessionId, how: Clear) -> Result<bool> {
        self.inner.clear(session, how).await
    }

    async fn post(&self, session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        self.inner.post(session, key, posting).await
    }
}
