//! The intake of a channel: what happens with a message or a button press.
//!
//! Someone without access causes nothing: no turn, no session, no sign that anyone reads. Otherwise a message is a
//! command, an answer to an approval prompt, or a message for the assistant. It carries the platform's id, by which
//! the storage recognises duplicates for a week, and the chat as its destination, so that its reply takes the same
//! way as any delivery. When [`Intake::arrive`] returns `Ok`, all of that is stored. Files are fetched afterwards,
//! concurrently, so that commands and presses never wait for them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::channel::{ChannelRecords, NewDelivery};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Attachment, Dedupe, Destination, Inbound};
use aethon_core::person::Person;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;

use super::access;
use super::approval_prompts::ApprovalPrompts;
use super::command::{self, Command};
use super::files::{self, Taken};
use super::growth::Asked;
use super::health::ChannelHealthState;
use super::outlet::{self, RateLimitedSender};
use super::place::{self, Place};
use super::platform::{Arrival, Press, Sender};
use super::sending;
use super::started_turns::StartedTurn;
use super::stream::Streams;
use super::waiting::{Entry, Kept, Waiting};
use crate::pairing::{self, Redeemed};
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};

/// The reply to a guest when guests have used up their share.
pub(super) const CROWDED: &str =
    "There is too much to do right now, so I did not take that. Send it again later, please.";
/// How long duplicates of a message are recognised, in seconds.
const KNOWN_FOR: u64 = 7 * 24 * 3600;
/// The same for messages that start no turn.
const SEEN_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The interval between messages to a stranger.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How many messages with files are processed at once.
const MAX_AT_ONCE: usize = 4;
/// The longest pause before retrying one that could not be stored.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The channel of the page.
const PAGE: &str = "webchat";
const STRANGER: &str = "Sorry, I only talk to people I know.";
const PAIRED: &str = "You are connected. Write to me whenever you like; /help lists the commands.";
/// The same for everyone without access, whatever they pressed: it reveals neither whose prompt it is nor whether it
/// is open.
const NOT_YOURS: &str = "You cannot answer this.";
const HELLO: &str = "Hello. Write to me what you need; /help lists the commands.";
const IN_THREADS: &str =
    "A new conversation begins here. Each thread is one of its own: mention me to begin another.";
const HELP: &str = "Write to me what you need.\n\n- `/new` begins a new conversation\n- `/stop` stops what I am doing\n\
                    - `/model` shows and chooses the model\n- `/help` shows this";

/// Takes in what arrives on a channel, for the assistant.
pub(crate) struct Intake {
    outlet: Arc<RateLimitedSender>,
    streams: Arc<Streams>,
    prompts: Arc<ApprovalPrompts>,
    waiting: Waiting,
    assistant: Arc<dyn Assistant>,
}

/// A message that was admitted.
struct Admitted {
    arrival: Arrival,
    session: SessionId,
    person: Person,
}

impl Intake {
    pub(super) fn new(
        outlet: Arc<RateLimitedSender>,
        streams: Arc<Streams>,
        prompts: Arc<ApprovalPrompts>,
        assistant: Arc<dyn Assistant>,
    ) -> Self {
        let waiting = Waiting::new(outlet.clone());
        Self { outlet, streams, prompts, waiting, assistant }
    }

    /// The channel's name.
    pub(crate) fn channel(&self) -> &'static str {
        self.outlet.channel()
    }

    /// Returns the health of the channel.
    pub(crate) fn health(&self) -> &ChannelHealthState {
        &self.outlet.health
    }

    /// Returns the channel's stored state.
    pub(crate) fn records(&self) -> &dyn ChannelRecords {
        &*self.outlet.services.records
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock().now()
    }

    fn clock(&self) -> &dyn Clock {
        &*self.outlet.services.clock
    }

    /// Processes a message.
    pub(crate) async fn arrive(&self, arrival: Arrival) -> Result<()> {
        if !self.may_write(&arrival.sender).await? {
            return self.stranger(&arrival).await;
        }
        let command = command::read(&arrival.text).filter(|_| !arrival.is_forwarded);
        let is_wanted = match self.outlet.rules.groups {
            _ if arrival.is_private || self.answers(command.as_ref(), &arrival) => true,
            GroupMode::Mention => arrival.is_addressed,
            GroupMode::All => true,
            GroupMode::Off => false,
        };
        if !is_wanted {
            return Ok(());
        }
        self.outlet.health.received(self.clock().now());
        if self.is_stale(&arrival) {
            return self.tell_once(&arrival, "stale", too_old(arrival.at)).await;
        }
        if let Some(command) = command {
            return self.run_command(command, &arrival).await;
        }
        let place = Place::of(&self.outlet.rules, &arrival);
        let session = self.session(&place).await?;
        if files::are_to_be_fetched(&self.outlet, &arrival) || self.waiting.is_behind(&arrival.chat) {
            return self.waiting.put(Kept { arrival, session }).await;
        }
        let admitted = Admitted { arrival, session, person: place.person };
        let taken = files::taken(&self.outlet, &admitted.arrival, &|| true).await;
        self.submit(&admitted, taken).await
    }

    /// Returns whether the message answers a prompt that is open in this chat. The prompt shows the wording, so it
    /// needs no mention.
    fn answers(&self, command: Option<&Command>, arrival: &Arrival) -> bool {
        match command {
            Some(Command::Answer(_, code)) => self.prompts.is_open(code, &arrival.chat),
            _ => false,
        }
    }

    /// Loads what the previous run left unfinished.
    pub(super) async fn resume(&self) -> Result<()> {
        self.waiting.load().await
    }

    /// Processes messages whose files must be fetched, while it is polled.
    pub(super) async fn process_waiting(&self) {
        let mut processing = FuturesUnordered::new();
        loop {
            tokio::select! {
                entry = self.waiting.next(), if processing.len() < MAX_AT_ONCE => processing.push(self.process(entry)),
                Some(()) = processing.next() => {}
            }
        }
    }

    /// Processes them until there are none.
    #[cfg(test)]
    pub(super) async fn process_all_waiting(&self) {
        while let Some(entry) = self.waiting.begin() {
            self.process(entry).await;
        }
    }

    async fn process(&self, entry: Arc<Entry>) {
        let mut pause = Duration::from_secs(1);
        let Kept { arrival, session } = entry.kept.clone();
        let person = Place::of(&self.outlet.rules, &arrival).person;
        let admitted = Admitted { arrival, session, person };
        let is_wanted = || self.waiting.is_wanted(&entry);
        // Only once, because transcription costs money; retries cover only what must be stored.
        let taken = files::taken(&self.outlet, &admitted.arrival, &is_wanted).await;
        while is_wanted()
            && let Err(error) = self.submit(&admitted, taken.clone()).await
        {
            tracing::warn!(channel = self.outlet.channel(), %error, "a message with files could not be taken in; trying again");
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        self.waiting.done(&entry).await;
    }

    /// Says something about a message's files, once: in the answer where the platform can and there is one, else in a message
    /// of its own.
    async fn tell_beside(
        &self,
        arrival: &Arrival,
        what: &str,
        text: String,
        is_answered: bool,
    ) -> Result<()> {
        let name = format!("told:{what}:{}", arrival.id);
        let is_told = self.records().get(self.outlet.channel(), &name).await?.is_some();
        if is_answered && !is_told && self.outlet.platform.mention(&arrival.chat, &text).await? {
            let until = Some(self.clock().now() + SEEN_FOR);
            return self.records().put(self.outlet.channel(), &name, "", until).await;
        }
        self.tell_once(arrival, what, text).await
    }

    /// Returns whether someone may write.
    pub(crate) async fn may_write(&self, sender: &Sender) -> Result<bool> {
        let rules = &self.outlet.rules;
        if access::is_listed(rules, sender) {
            return Ok(true);
        }
        // Pairings are revoked by their command; switching pairing off only stops new ones.
        pairing::is_paired(self.records(), rules.channel, &sender.id).await
    }

    /// Returns whether a stranger could gain access by what they write now. `joined_at` is when we joined a room for
    /// that purpose; without it, returns whether joining one is worthwhile.
    pub(crate) async fn awaits(&self, stranger: &str, joined_at: Option<Timestamp>) -> Result<bool> {
        let (records, channel) = (self.records(), self.outlet.channel());
        match (self.outlet.rules.pairing, joined_at) {
            (Pairing::Off, _) => Ok(false),
            (Pairing::Invite, _) => pairing::is_code_open(records, channel).await,
            (Pairing::Request, None) => pairing::may_ask(records, channel, stranger).await,
            (Pairing::Request, Some(joined_at)) => {
                let is_new = self.now().duration_since(joined_at) < pairing::VALIDITY;
                Ok(is_new || pairing::has_asked(records, channel, stranger).await?)
            }
        }
    }

    /// Tells a chat something about itself, once a week.
    pub(crate) async fn tell(&self, chat: &str, what: &str, text: &str) -> Result<()> {
        let until = Some(self.clock().now() + SEEN_FOR);
        let name = format!("told:{what}:{chat}");
        if self.records().claim(self.outlet.channel(), &name, "", until).await? {
            self.outlet.say(chat, text).await?;
        }
        Ok(())
    }

    /// Tells the owner something on the first channel with a default recipient. On this channel only if `is_fit_here`.
    pub(crate) async fn tell_owner(&self, text: &str, is_fit_here: bool) -> Result<bool> {
        let (courier, own) = (&self.outlet.services.courier, self.outlet.channel());
        let mut others = courier.channels();
        others.retain(|name| name != own);
        // The page has a recipient always, but is read less often.
        others.sort_by_key(|name| name == PAGE);
        let has_home = is_fit_here && self.outlet.rules.home.is_some();
        let at = others.iter().position(|name| name == PAGE).unwrap_or(others.len());
        others.splice(at..at, has_home.then(|| own.to_owned()));
        let session = outlet::session(own, "owner", 1)?;
        let expires_at = self.clock().now() + SEEN_FOR;
        for channel in others {
            let word = NewDelivery::new(channel, text, expires_at);
            match courier.send(&session, &TurnId::fresh(), word).await {
                Ok(()) => return Ok(true),
                // It has no default recipient.
                Err(error) if error.is_invalid() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Handles a button press. Returns the response to the person. Someone who could write when the prompt was shown
    /// may have lost access since.
    pub(crate) async fn press(&self, press: &Press) -> &'static str {
        match self.may_write(&press.sender).await {
            Ok(true) => self.prompts.press(press),
            Ok(false) => NOT_YOURS,
            Err(error) => {
                tracing::warn!(channel = self.outlet.channel(), %error, "a press could not be judged");
                "That did not work. Press again, please."
            }
        }
    }

    /// Handles a message that failed although the platform first accepted it.
    pub(crate) async fn returned(&self, key: &str, why: &str) -> Result<()> {
        sending::returned(&self.outlet, key, why).await
    }

    /// Records that someone paired with a code, so that the owner can review it.
    async fn note_pairing(&self, channel: &str, sender: &str) {
        tracing::info!(channel, sender, "somebody was paired");
        let subject = format!("{channel}/{sender}");
        let entry = AuditEntry::new(self.now(), AuditAction::Pairing, subject, "paired").by(sender);
        if let Err(error) = self.outlet.services.audit.record(entry).await {
            tracing::warn!(%error, "a row of the audit is in the log only");
        }
    }

    async fn stranger(&self, arrival: &Arrival) -> Result<()> {
        if !arrival.is_private {
            return Ok(());
        }
        let (rules, sender) = (&self.outlet.rules, &arrival.sender.id);
        let code = match command::read(&arrival.text) {
            Some(Command::Pair(code) | Command::Start(Some(code))) => Some(code),
            _ => None,
        };
        if let (Pairing::Invite, Some(code)) = (rules.pairing, code) {
            if !self.is_new(arrival).await? {
                return Ok(());
            }
            let redeemed =
                pairing::redeem(self.records(), self.clock(), (rules.channel, sender), &code).await?;
            if redeemed == Redeemed::Paired {
                self.note_pairing(rules.channel, sender).await;
                return self.outlet.say(&arrival.chat, PAIRED).await;
            }
            tracing::warn!(channel = rules.channel, sender, "a code for pairing was refused");
            return Ok(());
        }
        if rules.pairing == Pairing::Request {
            let code = pairing::request(self.records(), self.clock(), (rules.channel, sender)).await?;
            let Some(code) = code else { return Ok(()) };
            tracing::info!(
                channel = rules.channel,
                sender,
                "somebody asks to be paired; `aethon-cli channels approve CODE` confirms it"
            );
            let text = format!("To write to me, give this code to the owner within ten minutes: `{code}`");
            return self.outlet.say(&arrival.chat, text).await;
        }
        tracing::debug!(channel = rules.channel, sender, "a stranger was not heard");
        if rules.strangers == UnknownSenderPolicy::Silence {
            return Ok(());
        }
        let until = Some(self.clock().now() + DAY);
        if self.records().claim(rules.channel, &format!("told:{sender}"), "", until).await? {
            self.outlet.say(&arrival.chat, STRANGER).await?;
        }
        Ok(())
    }

    async fn run_command(&self, command: Command, arrival: &Arrival) -> Result<()> {
        if !self.is_new(arrival).await? {
            return Ok(());
        }
        let chat = arrival.chat.as_str();
        let place = Place::of(&self.outlet.rules, arrival);
        // In a group, the conversation belongs to everyone.
        let is_theirs = arrival.is_private || access::is_owner(&self.outlet.rules, &arrival.sender);
        let answer = match command {
            Command::New if !is_theirs => "Only an owner can begin a new conversation here.".to_owned(),
            Command::Stop => self.stop(arrival, &place, is_theirs).await?,
            Command::Start(_) => HELLO.to_owned(),
            Command::Pair(_) => "You are connected already.".to_owned(),
            Command::Help => HELP.to_owned(),
            Command::New => {
                let number = self.number(&place).await? + 1;
                self.records().put(&place.channel, &counter(&place), &number.to_string(), None).await?;
                match (self.outlet.platform.dialect().has_threads)(chat) {
                    true => IN_THREADS.to_owned(),
                    false => "A new conversation begins. The one before it is kept.".to_owned(),
                }
            }
            Command::Answer(decision, code) => {
                self.prompts.answer(&code, decision, (&arrival.sender, chat)).to_owned()
            }
        };
        self.outlet.say(chat, answer).await
    }

    /// Stops what is running. If the conversation is theirs, that is all of it and of earlier conversations here;
    /// otherwise only what they started themselves.
    async fn stop(&self, arrival: &Arrival, place: &Place, is_theirs: bool) -> Result<String> {
        let (chat, sender) = (arrival.chat.as_str(), arrival.sender.id.as_str());
        let has_threads = (self.outlet.platform.dialect().has_threads)(chat);
        let is_there = |other: &str| {
            let in_it = other.strip_prefix(chat);
            in_it.is_some_and(|rest| rest.is_empty() || (has_threads && rest.starts_with(':')))
        };
        let is_meant = |waiting: &Arrival| {
            is_there(&waiting.chat) && (waiting.sender.id == sender || (is_theirs && waiting.chat == chat))
        };
        let (now, mut stopped) = (self.session(place).await?, self.waiting.drop_those(is_meant).await);
        let mut stopped_before = 0;
        if is_theirs {
            stopped += self.assistant.stop(&now, None).await;
            for before in self.before(place, &now)? {
                stopped_before += self.assistant.stop(&before, None).await;
            }
        }
        if !is_theirs || has_threads {
            let active = self.assistant.activity();
            let mut own = self.streams.started_turns.of(sender, is_there);
            own.retain(|started| active.iter().any(|turn| turn.turn == started.turn));
            for started in own {
                stopped += self.assistant.stop(&started.session, Some(&started.turn)).await;
            }
        }
        let answer = match (stopped, stopped_before) {
            (0, 0) if is_theirs => "Nothing is running.",
            (0, 0) => "Nothing of yours is running.",
            (_, 0) => "Stopped.",
            (0, _) => "Stopped what still ran in the conversation before this one.",
            _ => "Stopped, with what still ran in the conversation before this one.",
        };
        Ok(answer.to_owned())
    }

    /// Returns the earlier conversations of a place in which something runs or waits.
    fn before(&self, place: &Place, now: &SessionId) -> Result<BTreeSet<SessionId>> {
        let first = outlet::session(&place.channel, &place.conversation, 1)?;
        let is_here = |session: &SessionId| {
            let number = session.as_str().strip_prefix(first.as_str());
            number.is_some_and(|number| {
                number.is_empty()
                    || number.strip_prefix('~').is_some_and(|number| number.parse::<u32>().is_ok())
            })
        };
        let active = self.assistant.activity().into_iter().map(|turn| turn.session_id);
        Ok(active.filter(|session| session != now && is_here(session)).collect())
    }

    /// Passes a message to the assistant, with its files or their transcripts.
    async fn submit(&self, admitted: &Admitted, taken: Taken) -> Result<()> {
        let Admitted { arrival, session, person } = admitted;
        let Taken { files: mut attachments, spoken, notes } = taken;
        let passes_files_on = self.outlet.platform.dialect().passes_files_on;
        let Worded { text, quoted } = wording(arrival, &spoken, passes_files_on);
        let is_empty = text.trim().is_empty() && quoted.is_none() && attachments.is_empty();
        if !notes.is_empty() {
            tracing::info!(channel = self.outlet.channel(), "a file was not taken");
            self.tell_beside(arrival, "file", notes.join("\n\n"), !is_empty).await?;
        }
        if is_empty {
            return Ok(());
        }
        let rules = &self.outlet.rules;
        let is_owner = access::is_owner(rules, &arrival.sender);
        let is_foreign = arrival.is_forwarded || (rules.marks_others && !is_owner);
        // Files that come with other people's words are probably theirs too.
        let are_foreign = is_foreign || arrival.quoted.is_some();
        attachments.iter_mut().for_each(|file| file.untrusted = are_foreign);
        let dedupe = Dedupe { id: arrival.id.clone(), fingerprint: None, valid_for: Some(KNOWN_FOR) };
        let to =
            Destination { channel: self.outlet.channel().to_owned(), recipient: Some(arrival.chat.clone()) };
        let inbound = |attachments| {
            Inbound::say(session.clone(), text.clone())
                .via(self.outlet.channel())
                .from_sender(arrival.sender.id.clone())
                .for_person(person.clone())
                .with_dedupe(dedupe.clone())
                .with_attachments(with_quoted(attachments, quoted.as_deref()))
                .with_untrusted(is_foreign)
                .with_outside(place::is_from_guest_to_all(rules, arrival))
                .delivered_to(to.clone())
        };
        let asked = Asked { sender: arrival.sender.id.clone(), message: Some(arrival.id.clone()) };
        let surface = || self.streams.surface(&arrival.chat, asked.clone(), is_owner);
        let message = inbound(attachments);
        let trust = message.trust();
        match self.assistant.submit(message, surface()).await {
            Ok(submitted) => {
                self.started(admitted, submitted.turn);
                Ok(())
            }
            // A file that no model can be shown; the text can still be sent.
            Err(error) if error.is_invalid() => {
                let is_answered = !(text.trim().is_empty() || arrival.files.is_empty());
                let why = format!("I could not take that: {error}");
                self.tell_beside(arrival, "invalid", why, is_answered).await?;
                if !is_answered {
                    return Ok(());
                }
                let submitted = self.assistant.submit(inbound(Vec::new()), surface()).await?;
                self.started(admitted, submitted.turn);
                Ok(())
            }
            // Trying again until there is room would hold up everybody who writes behind it, the owner included.
            Err(error) if error.is_crowded() && !trust.is_owner() => {
                tracing::info!(channel = self.outlet.channel(), %error, "a message was refused");
                self.tell_once(arrival, "crowded", CROWDED.into()).await
            }
            Err(error) => Err(error),
        }
    }

    fn started(&self, admitted: &Admitted, turn: TurnId) {
        let Admitted { arrival, session, .. } = admitted;
        let (chat, sender) = (arrival.chat.clone(), arrival.sender.id.clone());
        self.streams.started_turns.note(StartedTurn { turn, session: session.clone(), chat, sender });
    }

    /// Returns the session in which a conversation continues.
    async fn session(&self, place: &Place) -> Result<SessionId> {
        outlet::session(&place.channel, &place.conversation, self.number(place).await?)
    }

    async fn number(&self, place: &Place) -> Result<u32> {
        let stored = self.records().get(&place.channel, &counter(place)).await?;
        Ok(stored.and_then(|number| number.parse().ok()).unwrap_or(1))
    }

    /// Returns whether a message that starts no turn is new.
    async fn is_new(&self, arrival: &Arrival) -> Result<bool> {
        let until = Some(self.clock().now() + SEEN_FOR);
        self.records().claim(self.outlet.channel(), &format!("seen:{}", arrival.id), "", until).await
    }

    /// Tells the person something about a message, once however often the message is delivered.
    async fn tell_once(&self, arrival: &Arrival, what: &str, text: String) -> Result<()> {
        let until = Some(self.clock().now() + SEEN_FOR);
        let name = format!("told:{what}:{}", arrival.id);
        if self.records().claim(self.outlet.channel(), &name, "", until).await? {
            self.outlet.say(&arrival.chat, text).await?;
        }
        Ok(())
    }

    fn is_stale(&self, arrival: &Arrival) -> bool {
        let age = self.clock().now().duration_since(arrival.at);
        SignedDuration::try_from(self.outlet.rules.stale_after).is_ok_and(|most| age > most)
    }
}

/// Where the number of the current conversation at a place is stored.
fn counter(place: &Place) -> String {
    format!("session:{}", place.conversation)
}

/// Adds the words that a message answers to its files.
fn with_quoted(mut files: Vec<Attachment>, quoted: Option<&str>) -> Vec<Attachment> {
    files.extend(quoted.map(|quoted| Attachment::quoted(STANDARD.encode(quoted))));
    files
}

/// What a model reads of a message besides its files.
struct Worded {
    /// The sender's own words.
    text: String,
    /// The words that they quote.
    quoted: Option<String>,
}

/// Builds what the model reads: the text and transcripts, with the author's name where several people may write, and
/// quoted words apart. If quoted content is passed on with files, their transcripts count as quoted too.
fn wording(arrival: &Arrival, spoken: &[String], passes_files_on: bool) -> Worded {
    let quoted = arrival.quoted.as_deref().map(str::trim).filter(|quoted| !quoted.is_empty());
    let (own, of_others) =
        if quoted.is_some() && passes_files_on { (&[][..], spoken) } else { (spoken, &[][..]) };
    let joined = |written: Option<&str>, spoken: &[String]| {
        let parts: Vec<&str> = written.into_iter().chain(spoken.iter().map(String::as_str)).collect();
        parts.join("\n\n")
    };
    let mut text = joined(Some(arrival.text.trim()).filter(|text| !text.is_empty()), own);
    if !arrival.is_private && !text.is_empty() && !text.starts_with('/') {
        let name = arrival.sender.name.as_ref().unwrap_or(&arrival.sender.id);
        text = format!("[{name}] {text}");
    }
    Worded { text, quoted: quoted.map(|quoted| joined(Some(quoted), of_others)) }
}

fn too_old(at: Timestamp) -> String {
    let at = at.strftime("%Y-%m-%d %H:%M UTC");
    format!(
        "I was away, and your message of {at} is too old to be answered by now. Send it again if it still matters."
    )
}
