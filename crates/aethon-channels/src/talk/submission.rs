//! How an act begins its turn: its files are fetched, its words and files become one message to the assistant, and what
//! became of each of its messages is stored.
//!
//! An act that takes the place of a turn stops that turn first. If the turn had begun and is the last one of its
//! conversation, the transcript continues as if it had not been; otherwise the act simply comes after it.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::{ActiveTurn, Submitted};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Attachment, Dedupe, Destination, Inbound};
use aethon_core::surface::Surface;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep};

use super::access;
use super::act::{self, Act, Content};
use super::begun::{BegunAct, SEEN_FOR};
use super::files::{self, Fetched, Taken, TakenAct};
use super::growth::Asked;
use super::intake::{CROWDED, Intake, KNOWN_FOR};
use super::place::{self, Place};
use super::platform::Arrival;
use super::reply_gates::{ReplyTerms, terms_record_of, withdrawal_of};
use super::started_turns::StartedTurn;
use super::stream::ReplyOpening;
use super::waiting::Entry;
use super::wording::{Worded, wording};

/// How many acts with files are processed at once, and how many in all.
const MAX_SLOW: usize = 4;
const MAX_AT_ONCE: usize = 64;
/// The longest pause before retrying one that could not be stored.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// How long a turn that was stopped may take to end, and how often that is looked at.
const MAX_END: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// An act on its way to the assistant.
struct Submission<'s> {
    act: &'s Act,
    /// The message that represents it.
    head: &'s Arrival,
    /// The turn that is replaced in the transcript.
    replaced: Option<TurnId>,
    opens_at: Instant,
}

/// The next step for an act.
enum Judgement {
    /// It begins a turn.
    Wanted,
    /// Nothing of it was for us.
    NotForUs,
    /// Its sender may not write any more.
    NotAdmitted,
    /// All of it is too old.
    TooOld,
}

/// A turn that was stopped because an act takes its place.
struct Retired {
    turn: TurnId,
    /// The turn, if it can be replaced in the transcript.
    replaced: Option<TurnId>,
}

/// The message of an act to the assistant.
struct Said {
    text: String,
    attachments: Vec<Attachment>,
    is_foreign: bool,
    notes: Vec<String>,
}

impl Intake {
    /// Processes waiting acts, while it is polled.
    pub(super) async fn process_waiting(&self) {
        let (mut slow, mut quick) = (FuturesUnordered::new(), FuturesUnordered::new());
        loop {
            tokio::select! {
                entry = self.waiting.next(slow.len() < MAX_SLOW), if quick.len() < MAX_AT_ONCE => {
                    let is_slow = entry.is_slow();
                    let processing = self.process(entry);
                    if is_slow { slow.push(processing) } else { quick.push(processing) }
                }
                Some(()) = slow.next() => {}
                Some(()) = quick.next() => {}
            }
        }
    }

    /// Processes them until there are none, without waiting for more of any.
    #[cfg(test)]
    pub(super) async fn process_all_waiting(&self) {
        while let Some(entry) = self.waiting.begin(true) {
            self.process(entry).await;
        }
    }

    /// The same for those that fetch no files.
    #[cfg(test)]
    pub(super) async fn process_all_quick(&self) {
        while let Some(entry) = self.waiting.begin(false) {
            self.process(entry).await;
        }
    }

    async fn process(&self, entry: Arc<Entry>) {
        let (mut pause, mut fetched) = (Duration::from_secs(1), Fetched::default());
        let mut retired = None;
        // An act may grow until its turn begins, and while it does.
        while let Some(current) = self.waiting.current(&entry) {
            let Err(error) = self.begin(&current, &mut fetched, &mut retired).await else { continue };
            tracing::warn!(channel = self.outlet.channel(), %error, "a message could not be accepted; trying again");
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        self.waiting.done(&entry);
    }

    /// Begins the turn of an act, unless it has changed meanwhile. The turn whose place it takes is stopped once.
    async fn begin(&self, entry: &Entry, fetched: &mut Fetched, retired: &mut Option<Retired>) -> Result<()> {
        if let Some(turn) = &entry.act.instead {
            // After a restart, it runs again.
            self.stop_running(&entry.act.session, turn).await;
        }
        // Unwanted files are not fetched, and wanted ones only once, because transcription costs money.
        let taken = match self.judge(&entry.act).await? {
            Judgement::Wanted => {
                let is_wanted = || self.waiting.is_wanted(entry);
                Some(files::taken(&self.outlet, &entry.act.parts, fetched, &is_wanted).await)
            }
            _ => None,
        };
        if let Some(turn) = &entry.act.instead
            && retired.as_ref().is_none_or(|retired| retired.turn != *turn)
        {
            *retired = Some(Retired { turn: turn.clone(), replaced: self.retire(entry, turn).await? });
        }
        let own = retired.as_ref().filter(|retired| entry.act.instead.as_ref() == Some(&retired.turn));
        let replaced = own.and_then(|retired| retired.replaced.clone());
        let Some((entry, taken)) = self.prepared(entry, taken).await? else { return Ok(()) };
        let act = &entry.act;
        let Some(head) = act.head() else { return Ok(()) };
        let opens_at = entry.changed_at + Act::reply_delay(&self.outlet.platform.dialect());
        let submitted = self.submit(&Submission { act, head, replaced, opens_at }, taken).await?;
        self.finish(&entry, submitted).await
    }

    /// Returns the next step for an act. Fails if that cannot be read now.
    async fn judge(&self, act: &Act) -> Result<Judgement> {
        let Some(head) = act.head().filter(|_| act.parts.iter().any(|part| self.is_wanted(part))) else {
            return Ok(Judgement::NotForUs);
        };
        if !self.may_write(&head.sender).await? {
            return Ok(Judgement::NotAdmitted);
        }
        match act.parts.iter().all(|part| self.is_stale(part)) {
            true => Ok(Judgement::TooOld),
            false => Ok(Judgement::Wanted),
        }
    }

    /// Returns an act that begins its turn now, after it was stored with what. `None` if it begins none, or is to be looked
    /// at again because something has changed.
    async fn prepared(
        &self,
        entry: &Entry,
        taken: Option<TakenAct>,
    ) -> Result<Option<(Arc<Entry>, TakenAct)>> {
        let _in_order = self.order.lock().await;
        let current = self.waiting.current(entry).filter(|current| current.is_same(entry));
        let Some(current) = current else { return Ok(None) };
        let (act, channel) = (&current.act, self.outlet.channel());
        match (self.judge(act).await?, act.head()) {
            (Judgement::Wanted, Some(head)) => {
                let Some(taken) = taken else { return Ok(None) };
                let mut act = act.clone();
                act.corrections.extend(self.corrections(head, &act.session).await?);
                act.begun_as = act.begun_as.or_else(|| Some(current.act.content()));
                return Ok(Some((self.waiting.note(&current, act).await?, taken)));
            }
            (Judgement::NotForUs, _) | (_, None) => {
                self.waiting.remove(&current).await;
                return Ok(None);
            }
            (Judgement::NotAdmitted, _) => {
                tracing::info!(channel, "a message was dropped, because its sender may not write any more");
            }
            (Judgement::TooOld, Some(head)) => self.tell_too_old(head).await?,
        }
        self.begun.note(self.storage(), act, None).await?;
        self.waiting.remove(&current).await;
        Ok(None)
    }

    /// Notes what became of an act that was passed to the assistant. While it was, which may take long, the act may have
    /// changed or have been called off.
    async fn finish(&self, entry: &Entry, submitted: Option<Submitted>) -> Result<()> {
        let in_order = self.order.lock().await;
        let current = self.waiting.current(entry);
        let (current, submitted) = match (current, submitted) {
            (Some(current), Some(submitted)) => (current, submitted),
            (Some(current), None) if current.is_same(entry) => {
                self.begun.note(self.storage(), &entry.act, None).await?;
                self.waiting.remove(entry).await;
                return Ok(());
            }
            (None, Some(submitted)) => {
                drop(in_order);
                return self.call_off(&entry.act, &submitted.turn).await;
            }
            (_, None) => return Ok(()),
        };
        self.forget_corrections(&entry.act.corrections).await?;
        // A turn that was there already has the content of the time when it was stored.
        let noted = entry.act.begun_as.clone().filter(|_| !submitted.is_new);
        let begun_as = noted.unwrap_or_else(|| entry.act.content());
        let turn = submitted.turn;
        let begun = BegunAct { act: current.act.clone(), turn };
        if begun_as == begun.act.content() {
            self.begun.note(self.storage(), &entry.act, Some(&begun.turn)).await?;
            self.waiting.remove(entry).await;
            return Ok(());
        }
        if self.withdraw(&begun).await? {
            self.waiting.replace(&current, begun.act.clone().instead_of(begun.turn.clone())).await?;
            drop(in_order);
            self.stop_running(&begun.act.session, &begun.turn).await;
            return Ok(());
        }
        self.finish_shown(&current, &begun, &begun_as).await
    }

    /// The same for an act that has changed although its reply was shown already: an edited message is a correction, and an
    /// added one is an act of its own.
    async fn finish_shown(&self, current: &Entry, begun: &BegunAct, begun_as: &Content) -> Result<()> {
        let session = &begun.act.session;
        let (told, added): (Vec<Arrival>, Vec<Arrival>) =
            begun.act.parts.iter().cloned().partition(|part| begun_as.contains_key(&part.id));
        for part in &told {
            if begun_as.get(&part.id) != Some(&act::content_digest(part)) {
                self.note_correction(part, &part.id, session).await?;
            }
        }
        let stands = Act { parts: told, ..begun.act.clone() };
        self.begun.note(self.storage(), &stands, Some(&begun.turn)).await?;
        let mut added = added.into_iter();
        let Some(first) = added.next() else {
            self.waiting.remove(current).await;
            return Ok(());
        };
        // They belonged to a message that was addressed to us.
        let mut next = Act::new(Arrival { is_addressed: true, ..first }, session.clone());
        added.for_each(|part| next.add(part));
        self.waiting.replace(current, next).await
    }

    /// Ends the turn of an act that was called off while the turn began.
    async fn call_off(&self, act: &Act, turn: &TurnId) -> Result<()> {
        self.streams.gates.withdraw(turn);
        self.assistant.stop(&act.session, Some(turn)).await;
        let until = Some(self.clock().now() + SEEN_FOR);
        self.records().put(self.outlet.channel(), &withdrawal_of(turn), "", until).await
    }

    /// Stops the turn whose place an act takes. Returns it if the transcript ends with it, so that it can be replaced there.
    async fn retire(&self, entry: &Entry, turn: &TurnId) -> Result<Option<TurnId>> {
        let until = Some(self.clock().now() + SEEN_FOR);
        self.records().put(self.outlet.channel(), &withdrawal_of(turn), "", until).await?;
        self.streams.gates.withdraw(turn);
        let session = &entry.act.session;
        let (own, before) = self.active_in(session, turn);
        let is_behind_others = own.as_ref().is_some_and(|own| own.state != "running");
        let is_last = own.is_some_and(|own| before.iter().all(|other| other.since <= own.since));
        let deadline = Instant::now() + MAX_END;
        self.assistant.stop(session, Some(turn)).await;
        loop {
            let (own, others) = self.active_in(session, turn);
            let has_followers =
                others.iter().any(|other| before.iter().all(|known| known.turn != other.turn));
            match own {
                Some(_) if Instant::now() > deadline => {
                    return Err(Error::unavailable("the turn before it has not ended"));
                }
                Some(_) => {}
                None if others.is_empty() => {
                    let has_later = self.has_later(session, turn).await?;
                    return Ok(Some(turn.clone()).filter(|_| !has_later));
                }
                // It waited for these, and enters the transcript behind them.
                None if is_behind_others && is_last && !has_followers && self.waiting.is_wanted(entry) => {}
                None => return Ok(None),
            }
            sleep(LOOK).await;
        }
    }

    /// Returns whether later turns of a session have begun, which would leave the transcript with the turn.
    async fn has_later(&self, session: &SessionId, turn: &TurnId) -> Result<bool> {
        let is_later = |started: &StartedTurn| started.session == *session && started.turn > *turn;
        let later = self.streams.started_turns.those(is_later);
        Ok(!later.is_empty() || self.begun.has_later(self.storage(), session, turn).await?)
    }

    /// Returns the state of a turn that is active in a session, and the other turns that are.
    fn active_in(&self, session: &SessionId, turn: &TurnId) -> (Option<ActiveTurn>, Vec<ActiveTurn>) {
        let here = self.assistant.activity().into_iter().filter(|active| active.session_id == *session);
        let (own, others): (Vec<ActiveTurn>, Vec<ActiveTurn>) = here.partition(|active| active.turn == *turn);
        (own.into_iter().next(), others)
    }

    /// Passes an act to the assistant. Returns its turn, if it begins one.
    async fn submit(&self, submission: &Submission<'_>, taken: TakenAct) -> Result<Option<Submitted>> {
        let Submission { act, head, .. } = submission;
        let said = self.said(submission, taken);
        let is_empty = said.text.is_empty() && said.attachments.is_empty();
        let is_attended = self.outlet.platform.dialect().is_attended;
        if !said.notes.is_empty() && (is_empty || !is_attended) {
            tracing::info!(channel = self.outlet.channel(), "a file was not taken");
            self.tell_beside(head, "file", said.notes.join("\n\n"), !is_empty).await?;
        }
        if is_empty {
            self.answer_wordless(act).await?;
            return Ok(None);
        }
        let opening = self.opening(submission, &said.notes);
        let is_owner = access::is_owner(&self.outlet.rules, &head.sender);
        let asked = Asked { sender: head.sender.id.clone(), message: Some(act.id.clone()) };
        let surface = || self.streams.surface_opening(&head.chat, asked.clone(), is_owner, opening.clone());
        let plain = Inbound::say(act.session.clone(), "");
        let trust = self.addressed(submission, said.is_foreign, plain).trust();
        let submitted = match self.send(submission, &said, surface()).await {
            Ok(submitted) => submitted,
            // A file that no model can be shown; the text can still be sent.
            Err(error) if error.is_invalid() => {
                let has_files = act.parts.iter().any(|part| !part.files.is_empty());
                let is_answered = has_files && !said.text.trim().is_empty();
                self.tell_beside(head, "invalid", format!("I could not take that: {error}"), is_answered)
                    .await?;
                if !is_answered {
                    return Ok(None);
                }
                let bare = Said { attachments: Vec::new(), ..said };
                self.send(submission, &bare, surface()).await?
            }
            // Trying again until there is room would hold up everybody who writes behind it, the owner included.
            Err(error) if error.is_crowded() && !trust.is_owner() => {
                tracing::info!(channel = self.outlet.channel(), %error, "a message was refused");
                self.tell_once(head, "crowded", CROWDED.into()).await?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.note_begin(submission, &submitted, &opening).await?;
        Ok(Some(submitted))
    }

    /// Submits a message, in place of the earlier turn if that is still in the transcript.
    async fn send(
        &self,
        submission: &Submission<'_>,
        said: &Said,
        surface: Arc<dyn Surface>,
    ) -> Result<Submitted> {
        let plain = Inbound::say(submission.act.session.clone(), said.text.clone());
        if let Some(replaced) = &submission.replaced {
            let edit = Inbound::edit(submission.act.session.clone(), replaced.clone(), said.text.clone());
            match self.assistant.submit(self.inbound(submission, said, edit), surface.clone()).await {
                // It had not begun, or has left the transcript with an earlier message.
                Err(error) if error.is_not_found() => {}
                other => return other,
            }
        }
        self.assistant.submit(self.inbound(submission, said, plain), surface).await
    }

    fn said(&self, submission: &Submission<'_>, taken: TakenAct) -> Said {
        let Submission { act, head, .. } = submission;
        let (rules, dialect) = (&self.outlet.rules, self.outlet.platform.dialect());
        let together = act::whole(&act.parts, &taken.parts, &dialect);
        let (whole, together) = together.unwrap_or_else(|| ((*head).clone(), Taken::default()));
        let Worded { text, quoted } = wording(&whole, &together, dialect.passes_files_on);
        let is_others = rules.marks_others && !access::is_owner(rules, &head.sender);
        let mut attachments = Vec::new();
        for (part, taken) in act.parts.iter().zip(taken.parts) {
            // Files that are passed on with other people's words are probably theirs too.
            let is_passed_on = part.quoted.is_some() && dialect.passes_files_on;
            let are_foreign = is_others || part.is_forwarded || is_passed_on;
            let marked = |file: Attachment| Attachment { untrusted: file.untrusted || are_foreign, ..file };
            attachments.extend(taken.files.into_iter().map(marked));
        }
        attachments.extend(quoted.map(|quoted| Attachment::quoted(STANDARD.encode(quoted))));
        let text = match text.trim().is_empty() && attachments.is_empty() {
            true => String::new(),
            false => act.corrections.added_to(text),
        };
        Said { text, attachments, is_foreign: whole.is_forwarded || is_others, notes: taken.notes }
    }

    fn inbound(&self, submission: &Submission<'_>, said: &Said, plain: Inbound) -> Inbound {
        self.addressed(submission, said.is_foreign, plain).with_attachments(said.attachments.clone())
    }

    /// Adds to a message who sent it and where its answer goes.
    fn addressed(&self, submission: &Submission<'_>, is_foreign: bool, plain: Inbound) -> Inbound {
        let Submission { act, head, .. } = submission;
        let (rules, channel) = (&self.outlet.rules, self.outlet.channel());
        let dedupe = Dedupe { id: act.dedupe_id(), fingerprint: None, valid_for: Some(KNOWN_FOR) };
        let to = Destination { channel: channel.to_owned(), recipient: Some(head.chat.clone()) };
        plain
            .via(channel)
            .from_sender(head.sender.id.clone())
            .for_person(Place::of(rules, head).person)
            .with_dedupe(dedupe)
            .with_untrusted(is_foreign)
            .with_outside(place::is_from_guest_to_all(rules, head))
            .delivered_to(to)
    }

    /// Returns how the reply may be shown.
    fn opening(&self, submission: &Submission<'_>, notes: &[String]) -> ReplyOpening {
        let Submission { head, opens_at, .. } = submission;
        let question = (!head.is_private).then(|| head.id.clone());
        // On a platform that shows nothing meanwhile, the note was sent already.
        let is_attended = self.outlet.platform.dialect().is_attended;
        let terms = ReplyTerms { question, notes: notes.iter().filter(|_| is_attended).cloned().collect() };
        ReplyOpening { opens_at: Some(*opens_at), terms }
    }

    /// Answers an act without words and without files that a model can see.
    async fn answer_wordless(&self, act: &Act) -> Result<()> {
        match act.parts.iter().find_map(|part| Some((part, part.wordless.clone()?))) {
            Some((part, answer)) => self.tell_once(part, "wordless", answer).await,
            None => Ok(()),
        }
    }

    /// Records a turn that began.
    async fn note_begin(
        &self,
        submission: &Submission<'_>,
        submitted: &Submitted,
        opening: &ReplyOpening,
    ) -> Result<()> {
        let Submission { act, head, opens_at, .. } = submission;
        let turn = &submitted.turn;
        if submitted.is_new {
            self.streams.acknowledgements.begin(&head.chat, &act.id, turn);
        }
        self.streams.gates.note(turn, *opens_at, &opening.terms);
        if !opening.terms.is_plain() {
            let until = Some(self.clock().now() + SEEN_FOR);
            let terms =
                serde_json::to_string(&opening.terms).map_err(|error| Error::internal(error.to_string()))?;
            self.records().put(self.outlet.channel(), &terms_record_of(turn), &terms, until).await?;
        }
        self.streams.started_turns.note(StartedTurn {
            turn: turn.clone(),
            session: act.session.clone(),
            chat: head.chat.clone(),
            who: head.sender.clone(),
            is_resumed: false,
        });
        Ok(())
    }
}
