//! The way in: what becomes of a message, and of a button that was pressed.
//!
//! Somebody who may not write brings nothing about: no turn, no session, no sign that anybody reads. What may come in is a
//! command, an answer to a question, or a message for the assistant. The message carries the platform's id, by which the
//! storage knows a second delivery for a week, and the chat as its destination, so that its reply takes the way of every
//! delivery. When [`Door::arrive`] returns `Ok`, all of that is stored.

use std::sync::Arc;

use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::channel::ChannelRecords;
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::ids::SessionId;
use aethon_core::message::{Attachment, Dedupe, Destination, Inbound};
use aethon_core::person::Person;
use aethon_core::untrusted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};

use super::access;
use super::command::{self, Command};
use super::growth::Asked;
use super::outlet::{self, Outlet};
use super::place::Place;
use super::platform::{Arrival, Offer, Press, Sender};
use super::question::Questions;
use super::sending;
use super::standing::Standing;
use super::stream::Streams;
use crate::options::{Groups, Pairing, Strangers};
use crate::pairing::{self, Redeemed};

/// For how long a second delivery of a message is known, in seconds.
const KNOWN_FOR: u64 = 7 * 24 * 3600;
/// The same for what brings no turn about.
const SEEN_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often a stranger is told something.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The files of a message that are taken.
const MOST_FILES: usize = 10;

const STRANGER: &str = "Sorry, I only talk to people I know.";
const PAIRED: &str = "You are connected. Write to me whenever you like; /help lists the commands.";
const HELLO: &str = "Hello. Write to me what you need; /help lists the commands.";
const HELP: &str = "Write to me what you need.\n\n- `/new` begins a new conversation\n- `/stop` stops what I am doing\n\
                    - `/help` shows this";

/// The way in to the assistant.
pub(crate) struct Door {
    outlet: Arc<Outlet>,
    streams: Arc<Streams>,
    questions: Arc<Questions>,
    assistant: Arc<dyn Assistant>,
}

/// A message that may come in.
struct Admitted {
    arrival: Arrival,
    session: SessionId,
    person: Person,
}

impl Door {
    pub(super) fn new(
        outlet: Arc<Outlet>,
        streams: Arc<Streams>,
        questions: Arc<Questions>,
        assistant: Arc<dyn Assistant>,
    ) -> Self {
        Self { outlet, streams, questions, assistant }
    }

    /// The channel's name.
    pub(crate) fn channel(&self) -> &'static str {
        self.outlet.channel()
    }

    /// How the channel does.
    pub(crate) fn standing(&self) -> &Standing {
        &self.outlet.standing
    }

    /// What the channel remembers.
    pub(crate) fn records(&self) -> &dyn ChannelRecords {
        &*self.outlet.around.records
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock().now()
    }

    fn clock(&self) -> &dyn Clock {
        &*self.outlet.around.clock
    }

    /// Takes a message in.
    pub(crate) async fn arrive(&self, arrival: Arrival) -> Result<()> {
        if !self.knows(&arrival.sender).await? {
            return self.stranger(&arrival).await;
        }
        let is_wanted = match self.outlet.rules.groups {
            _ if arrival.is_private => true,
            Groups::Mention => arrival.is_addressed,
            Groups::All => true,
            Groups::Off => false,
        };
        if !is_wanted {
            return Ok(());
        }
        self.outlet.standing.received(self.clock().now());
        if self.is_stale(&arrival) {
            return self.tell_once(&arrival, "stale", too_old(arrival.at)).await;
        }
        match command::read(&arrival.text).filter(|_| !arrival.is_forwarded) {
            Some(command) => self.obey(command, &arrival).await,
            None => {
                let place = Place::of(&self.outlet.rules, &arrival);
                let session = self.session(&place).await?;
                self.submit(Admitted { arrival, session, person: place.person }).await
            }
        }
    }

    /// Whether somebody may write.
    pub(crate) async fn knows(&self, sender: &Sender) -> Result<bool> {
        let rules = &self.outlet.rules;
        if access::is_listed(rules, sender) {
            return Ok(true);
        }
        // A pairing is taken back by its command; switching pairing off only stops new ones.
        pairing::is_paired(self.records(), rules.channel, &sender.id).await
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

    /// A button was pressed. Returns what the person is told.
    pub(crate) fn press(&self, press: &Press) -> &'static str {
        self.questions.press(press)
    }

    /// Something that was sent under this key has not arrived, although the platform said so at first.
    pub(crate) async fn returned(&self, key: &str, why: &str) -> Result<()> {
        sending::returned(&self.outlet, key, why).await
    }

    /// Somebody has let themselves in by a code: the owner can look who did.
    async fn note_pairing(&self, channel: &str, sender: &str) {
        tracing::info!(channel, sender, "somebody was paired");
        let subject = format!("{channel}/{sender}");
        let entry = AuditEntry::new(self.now(), AuditAction::Pairing, subject, "paired").by(sender);
        if let Err(error) = self.outlet.around.audit.record(entry).await {
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
        if rules.strangers == Strangers::Silence {
            return Ok(());
        }
        let until = Some(self.clock().now() + DAY);
        if self.records().claim(rules.channel, &format!("told:{sender}"), "", until).await? {
            self.outlet.say(&arrival.chat, STRANGER).await?;
        }
        Ok(())
    }

    async fn obey(&self, command: Command, arrival: &Arrival) -> Result<()> {
        if !self.is_new(arrival).await? {
            return Ok(());
        }
        let chat = arrival.chat.as_str();
        let place = Place::of(&self.outlet.rules, arrival);
        // In a group the conversation is everybody's.
        let is_theirs = arrival.is_private || access::is_owner(&self.outlet.rules, &arrival.sender);
        let answer = match command {
            Command::New if !is_theirs => "Only an owner can begin a new conversation here.".to_owned(),
            Command::Stop if !is_theirs => self.stop_own(arrival, &place).await?,
            Command::Start(_) => HELLO.to_owned(),
            Command::Pair(_) => "You are connected already.".to_owned(),
            Command::Help => HELP.to_owned(),
            Command::New => {
                let number = self.number(&place).await? + 1;
                self.records().put(&place.channel, &counter(&place), &number.to_string(), None).await?;
                "A new conversation begins. The one before it is kept.".to_owned()
            }
            Command::Stop => {
                let session = self.session(&place).await?;
                match self.assistant.stop(&session, None).await {
                    0 => "Nothing is running.".to_owned(),
                    _ => "Stopped.".to_owned(),
                }
            }
            Command::Answer(decision, code) => {
                self.questions.answer(&code, decision, (&arrival.sender, chat)).to_owned()
            }
        };
        self.outlet.say(chat, answer).await
    }

    /// Stops what somebody has brought about, and nothing of anybody else's.
    async fn stop_own(&self, arrival: &Arrival, place: &Place) -> Result<String> {
        let session = self.session(place).await?;
        let mut stopped = 0;
        for turn in self.streams.turns_of(&arrival.chat, &arrival.sender.id) {
            stopped += self.assistant.stop(&session, Some(&turn)).await;
        }
        let answer = if stopped == 0 { "Nothing of yours is running." } else { "Stopped." };
        Ok(answer.to_owned())
    }

    async fn submit(&self, admitted: Admitted) -> Result<()> {
        let Admitted { arrival, session, person } = admitted;
        let (mut attachments, notes) = self.files(&arrival).await?;
        for note in &notes {
            tracing::info!(channel = self.outlet.channel(), "a file was not taken");
            self.tell_once(&arrival, "file", note.clone()).await?;
        }
        let text = wording(&arrival);
        if text.trim().is_empty() && attachments.is_empty() {
            return Ok(());
        }
        let rules = &self.outlet.rules;
        let is_owner = access::is_owner(rules, &arrival.sender);
        let is_foreign = arrival.is_forwarded || (rules.marks_others && !is_owner);
        // Files that come with others' words are most likely theirs.
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
                .with_attachments(attachments)
                .with_untrusted(is_foreign)
                .delivered_to(to.clone())
        };
        let asked = Asked { sender: arrival.sender.id.clone(), message: Some(arrival.id.clone()) };
        let surface = || self.streams.surface(&arrival.chat, asked.clone(), is_owner);
        match self.assistant.submit(inbound(attachments), surface()).await {
            Ok(_) => Ok(()),
            // A file that cannot be shown to a model; the words still can.
            Err(error) if error.is_invalid() => {
                self.tell_once(&arrival, "invalid", format!("I could not take that: {error}")).await?;
                if text.trim().is_empty() || arrival.files.is_empty() {
                    return Ok(());
                }
                self.assistant.submit(inbound(Vec::new()), surface()).await.map(drop)
            }
            Err(error) => Err(error),
        }
    }

    /// The files of a message, and what there is to say about those that are not taken.
    async fn files(&self, arrival: &Arrival) -> Result<(Vec<Attachment>, Vec<String>)> {
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        for offer in arrival.files.iter().take(MOST_FILES) {
            match self.file(offer).await {
                Ok(file) => files.push(file),
                Err(note) => notes.push(note),
            }
        }
        if arrival.files.len() > MOST_FILES {
            notes.push(format!("I took the first {MOST_FILES} files."));
        }
        Ok((files, notes))
    }

    async fn file(&self, offer: &Offer) -> std::result::Result<Attachment, String> {
        let most = self.outlet.rules.max_file_bytes;
        let (name, channel) = (shown_name(&offer.name), self.outlet.channel());
        let too_large = || {
            let megabytes = most >> 20;
            format!(
                "The file {name} is larger than {megabytes} MB (channels.{channel}.max_file_mb), so I did not take it."
            )
        };
        if offer.size > most {
            return Err(too_large());
        }
        if !is_readable(&offer.mime) {
            return Err(format!("I cannot read {name} ({}); send a picture or a text file.", offer.mime));
        }
        let bytes = self.outlet.platform.fetch(offer).await.map_err(|fault| {
            tracing::warn!(channel, error = fault.message(), "a file could not be fetched");
            format!("The file {name} could not be fetched. Send it again, please.")
        })?;
        if u64::try_from(bytes.len()).is_ok_and(|size| size > most) {
            return Err(too_large());
        }
        Ok(Attachment::new(offer.name.clone(), offer.mime.clone(), STANDARD.encode(bytes)))
    }

    /// The session in which a conversation goes on.
    async fn session(&self, place: &Place) -> Result<SessionId> {
        outlet::session(&place.channel, &place.conversation, self.number(place).await?)
    }

    async fn number(&self, place: &Place) -> Result<u32> {
        let stored = self.records().get(&place.channel, &counter(place)).await?;
        Ok(stored.and_then(|number| number.parse().ok()).unwrap_or(1))
    }

    /// Whether a message that brings no turn about comes for the first time.
    async fn is_new(&self, arrival: &Arrival) -> Result<bool> {
        let until = Some(self.clock().now() + SEEN_FOR);
        self.records().claim(self.outlet.channel(), &format!("seen:{}", arrival.id), "", until).await
    }

    /// Tells the person something about a message, however often that comes.
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

/// Where the number of a conversation is remembered, of those that have been begun at a place.
fn counter(place: &Place) -> String {
    format!("session:{}", place.conversation)
}

/// What the model reads: the words, who said them where several may, and what they quote between the markers of such text.
fn wording(arrival: &Arrival) -> String {
    let mut text = arrival.text.trim().to_owned();
    if !arrival.is_private && !text.is_empty() && !text.starts_with('/') {
        let name = arrival.sender.name.as_ref().unwrap_or(&arrival.sender.id);
        text = format!("[{name}] {text}");
    }
    if let Some(quoted) = arrival.quoted.as_ref().filter(|quoted| !quoted.trim().is_empty()) {
        let quoted = untrusted::wrap(quoted.trim(), &untrusted::boundary());
        text = format!("{text}\n\nThe message answers these words of somebody else:\n{quoted}");
    }
    text
}

/// What a model can be shown; the assistant's own check has the last word.
fn is_readable(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    let is_picture = matches!(mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let is_text = mime.starts_with("text/")
        || ["json", "xml", "yaml", "toml", "javascript"].iter().any(|kind| {
            mime.strip_prefix("application/").is_some_and(|rest| rest.trim_start_matches("x-") == *kind)
        });
    is_picture || is_text
}

fn shown_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control() && *c != '`').take(80).collect();
    format!("`{name}`")
}

fn too_old(at: Timestamp) -> String {
    let at = at.strftime("%Y-%m-%d %H:%M UTC");
    format!(
        "I was away, and your message of {at} is too old to be answered by now. Send it again if it still matters."
    )
}
