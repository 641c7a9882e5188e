//! Edited messages: the new words replace a message that was not answered yet, and otherwise reach the model as a
//! correction.
//!
//! Platforms report more as an edit than people do: a link preview that was loaded, a file whose address was renewed.
//! So an edit that changes neither words nor files is none.

use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use jiff::SignedDuration;
use tokio::time::Instant;

use super::act::{Act, content_digest};
use super::begun::{BegunAct, KnownPart, SEEN_FOR, was_shown};
use super::command;
use super::corrections::Corrections;
use super::intake::Intake;
use super::platform::Arrival;
use super::reply_gates::{ReplyTerms, withdrawal_of};

/// How long after it was written an edit takes the place of a message whose turn has begun.
const WINDOW: SignedDuration = SignedDuration::from_secs(10);
/// How many corrections go with a message.
const MAX_CORRECTIONS: usize = 20;

impl Intake {
    /// Processes an edit.
    pub(super) async fn edited(&self, edit: Arrival) -> Result<()> {
        let Some(of) = edit.replaces.clone() else { return Ok(()) };
        let is_command = command::read(&edit.text).is_some() && !edit.is_forwarded;
        self.waiting.has_room().await;
        let (mut is_withdrawn, mut withdrawn) = (false, None);
        {
            let _in_order = self.order.lock().await;
            if let Some(entry) = self.waiting.find(&of) {
                if !entry.act.parts.iter().any(|part| part.id == of && part.sender.id == edit.sender.id) {
                    return Ok(());
                }
                let act = with_edit(&entry.act, &edit, &of, is_command);
                let is_empty = act.parts.is_empty();
                if is_command {
                    let without: Vec<Arrival> =
                        entry.act.parts.iter().filter(|part| part.id == of).cloned().collect();
                    let of_it = Act { parts: without, ..entry.act.clone() };
                    self.begun.note_dropped(self.storage(), &of_it).await?;
                }
                match is_empty {
                    true => self.waiting.remove(&entry).await,
                    false => self.waiting.replace(&entry, act).await?,
                }
                is_withdrawn = true;
            } else if let Some(known) = self.begun.part(self.storage(), &of).await? {
                let is_same = known.digest == content_digest(&edit);
                if known.sender != edit.sender.id || is_same {
                    return Ok(());
                }
                withdrawn = self.edit_known(&edit, &of, known, is_command).await?;
                is_withdrawn = withdrawn.is_some();
            }
        }
        if let Some(begun) = withdrawn {
            self.stop_running(&begun.act.session, &begun.turn).await;
        }
        if is_withdrawn && is_command {
            return self.run_edit_as_command(edit).await;
        }
        if is_withdrawn || self.begun.part(self.storage(), &of).await?.is_some() {
            return Ok(());
        }
        self.unknown_edited(edit, of).await
    }

    /// Processes an edit of a message whose turn has begun. Returns the turn's act if the edit took the place of
    /// the message.
    async fn edit_known(
        &self,
        edit: &Arrival,
        of: &str,
        known: KnownPart,
        is_command: bool,
    ) -> Result<Option<BegunAct>> {
        let begun = match (&known.turn, known.has_others) {
            (None, _) => None,
            (Some(turn), false) => {
                let original = Arrival { id: of.to_owned(), at: known.at, replaces: None, ..edit.clone() };
                let before = self.begun.with_part(self.storage(), edit, of).await?;
                let act = before.map(|begun| begun.act);
                let act = act.unwrap_or_else(|| Act::new(original, known.session.clone()));
                Some(BegunAct { act, turn: turn.clone() })
            }
            (Some(_), true) => self.begun.with_part(self.storage(), edit, of).await?,
        };
        let is_recent = self.now().duration_since(known.at) <= WINDOW;
        let waits = |begun: &BegunAct| {
            let active = self.assistant.activity();
            active.iter().any(|active| active.turn == begun.turn && active.state != "running")
        };
        let mut begun = begun.filter(|begun| is_recent || waits(begun));
        if let Some(candidate) = &begun
            && !self.withdraw(candidate).await?
        {
            begun = None;
        }
        let Some(begun) = begun else {
            if !is_command && !known.is_dropped {
                self.note_correction(edit, of, &known.session).await?;
            }
            let known = KnownPart { digest: content_digest(edit), ..known };
            self.begun.put_part(self.storage(), of, &known).await?;
            return Ok(None);
        };
        let act = with_edit(&begun.act, edit, of, is_command);
        if act.parts.is_empty() {
            let until = Some(self.now() + SEEN_FOR);
            self.records().put(self.outlet.channel(), &withdrawal_of(&begun.turn), "", until).await?;
            self.begun.note_dropped(self.storage(), &begun.act).await?;
            self.assistant.stop(&act.session, Some(&begun.turn)).await;
            return Ok(Some(begun));
        }
        self.waiting.put(act.instead_of(begun.turn.clone())).await?;
        Ok(Some(begun))
    }

    /// Processes an edit of a message that is not known: the edit came first, or the message was not for us.
    async fn unknown_edited(&self, edit: Arrival, of: String) -> Result<()> {
        let is_recent = self.now().duration_since(edit.at) <= WINDOW;
        let seen = self.records().get(self.outlet.channel(), &format!("seen:{of}")).await?;
        if !is_recent || seen.is_some() {
            return Ok(());
        }
        Box::pin(self.arrive(Arrival { id: of, replaces: None, ..edit })).await
    }

    /// Ends a withdrawn turn if it runs, because its result is no longer wanted. One that waits is left until
    /// the files of the act that takes its place are there: its place in the queue shows where that act belongs.
    pub(super) async fn stop_running(&self, session: &SessionId, turn: &TurnId) {
        let active = self.assistant.activity();
        if active.iter().any(|active| active.turn == *turn && active.state == "running") {
            self.assistant.stop(session, Some(turn)).await;
        }
    }

    async fn run_edit_as_command(&self, edit: Arrival) -> Result<()> {
        match command::read(&edit.text) {
            Some(command) => self.run_command(command, &edit).await,
            None => Ok(()),
        }
    }

    /// Withdraws the turn of an act, if nothing of its reply was shown.
    pub(super) async fn withdraw(&self, begun: &BegunAct) -> Result<bool> {
        let (gates, turn) = (&self.streams.gates, &begun.turn);
        // After a restart, only the storage knows.
        if !gates.knows(turn) && !was_shown(&self.outlet, turn).await? {
            gates.note(turn, Instant::now(), &ReplyTerms::default());
        }
        Ok(gates.withdraw(turn))
    }

    /// Stores an edit as a correction that goes with the next message of its sender.
    pub(super) async fn note_correction(&self, edit: &Arrival, of: &str, session: &SessionId) -> Result<()> {
        let mut text = edit.text.trim().to_owned();
        if text.is_empty() && edit.files.is_empty() {
            return Ok(());
        }
        if !edit.files.is_empty() {
            let names: Vec<&str> = edit.files.iter().map(|file| file.name.as_str()).collect();
            text = format!("{text}\n(with {})", names.join(", ")).trim().to_owned();
        }
        let name = format!("{}{of}", corrections_of(edit, session));
        let until = Some(self.now() + SEEN_FOR);
        self.records().put(self.outlet.channel(), &name, &text, until).await
    }

    /// Returns the corrections that the next message of a sender brings along.
    pub(super) async fn corrections(&self, head: &Arrival, session: &SessionId) -> Result<Corrections> {
        let (channel, prefix) = (self.outlet.channel(), corrections_of(head, session));
        Ok(self.records().list(channel, &prefix, MAX_CORRECTIONS).await?.into_iter().collect())
    }

    /// Forgets corrections that were passed on, unless their messages were edited again meanwhile.
    pub(super) async fn forget_corrections(&self, corrections: &Corrections) -> Result<()> {
        for (name, text) in corrections.records() {
            if self.records().get(self.outlet.channel(), name).await?.as_ref() == Some(text) {
                self.records().take(self.outlet.channel(), name).await?;
            }
        }
        Ok(())
    }
}

/// Where the corrections of a sender's messages in a conversation are stored. Corrections of an earlier conversation mean
/// nothing in the next one.
fn corrections_of(arrival: &Arrival, session: &SessionId) -> String {
    format!("corrected:{session} {} ", arrival.sender.id)
}

/// Returns an act with the edit of one of its messages, or without that message if it has become a command.
fn with_edit(act: &Act, edit: &Arrival, of: &str, is_command: bool) -> Act {
    let mut act = act.clone();
    if is_command {
        act.parts.retain(|part| part.id != of);
        return act;
    }
    for part in act.parts.iter_mut().filter(|part| part.id == of) {
        // With an edit, platforms do not repeat the answered message.
        let mut files = edit.files.clone();
        if !files.iter().any(|file| file.is_earlier) {
            files.extend(part.files.iter().filter(|file| file.is_earlier).cloned());
        }
        *part = Arrival {
            quoted: edit.quoted.clone().or(part.quoted.take()),
            answered: edit.answered.clone().or(part.answered.take()),
            earlier: edit.earlier.clone().or(part.earlier.take()),
            files,
            id: part.id.clone(),
            chat: part.chat.clone(),
            at: part.at,
            act: part.act.clone(),
            is_addressed: part.is_addressed || edit.is_addressed,
            replaces: None,
            ..edit.clone()
        };
    }
    act
}
