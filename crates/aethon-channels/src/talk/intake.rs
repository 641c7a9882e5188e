//! The intake of a channel: what happens with a message or a button press.
//!
//! Someone without access causes nothing: no turn, no session, no sign that anyone reads. Otherwise a message is a
//! command, an answer to an approval prompt, or a message for the assistant, by itself or as part of an act with others
//! (see `act`). It carries the platform's id, by which the storage recognises duplicates for a week, and the chat as its
//! destination, so that its reply takes the same way as any delivery. When [`Intake::arrive`] returns `Ok`, all of that
//! is stored. Its turn begins afterwards (see `submission`), so that commands and presses never wait for files.

use std::sync::Arc;

use aethon_core::assistant::Assistant;
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::channel::{ChannelRecords, NewDelivery};
use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::messenger::{GroupMode, Pairing, UnknownSenderPolicy};
use aethon_core::visible;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use super::access;
use super::act::{self, Act};
use super::approval_prompts::ApprovalPrompts;
use super::begun::{BegunActs, SEEN_FOR, Storage};
use super::command::{self, Command};
use super::health::ChannelHealthState;
use super::knocks;
use super::outlet::{self, RateLimitedSender};
use super::place::Place;
use super::platform::{Arrival, Press, Sender};
use super::revoked;
use super::sending;
use super::stream::Streams;
use super::waiting::Waiting;
use crate::pairing::{self, Redeemed};

/// The reply to a guest when guests have used up their share.
pub(super) const CROWDED: &str =
    "There is too much to do right now, so I did not take that. Send it again later, please.";
/// How long duplicates of a message are recognised, in seconds: as long as `begun::SEEN_FOR`.
pub(super) const KNOWN_FOR: u64 = 7 * 24 * 3600;
/// The interval between messages to a stranger.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The channel of the page.
const PAGE: &str = "webchat";
const STRANGER: &str = "Sorry, I only talk to people I know.";
const PAIRED: &str = "You are connected. Write to me whenever you like; /help lists the commands.";
/// The same for everyone without access, whatever they pressed: it reveals neither whose prompt it is nor whether it
/// is open.
const NOT_YOURS: &str = "You cannot answer this.";
const HELLO: &str = "Hello. Write to me what you need; /help lists the commands.";
const IN_THREADS: &str =
    "A new conversation begins here. Each thread is a conversation of its own: mention me to begin another.";
const HELP: &str = "Write to me what you need.\n\n- `/new` begins a new conversation\n- `/stop` stops what I am doing\n\
                    - `/model` shows and chooses the model\n- `/help` shows this";

/// Takes in what arrives on a channel, for the assistant.
pub(crate) struct Intake {
    pub(super) outlet: Arc<RateLimitedSender>,
    pub(super) streams: Arc<Streams>,
    prompts: Arc<ApprovalPrompts>,
    pub(super) waiting: Waiting,
    /// What became of messages that were taken in.
    pub(super) begun: BegunActs,
    pub(super) assistant: Arc<dyn Assistant>,
    /// Held while a message is put where it belongs, and while it is noted that an act begins or has begun its turn: a
    /// message never ends up between the two. Never while anything is waited for that may take long, because all
    /// receiving waits for it.
    pub(super) order: Mutex<()>,
}

impl Intake {
    pub(super) fn new(
        outlet: Arc<RateLimitedSender>,
        streams: Arc<Streams>,
        prompts: Arc<ApprovalPrompts>,
        assistant: Arc<dyn Assistant>,
    ) -> Self {
        let waiting = Waiting::new(outlet.clone());
        Self {
            outlet,
            streams,
            prompts,
            waiting,
            begun: BegunActs::default(),
            assistant,
            order: Mutex::default(),
        }
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

    pub(super) fn storage(&self) -> Storage<'_> {
        Storage { records: self.records(), channel: self.outlet.channel(), now: self.now() }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.outlet.services.clock
    }

    /// Processes a message.
    pub(crate) async fn arrive(&self, arrival: Arrival) -> Result<()> {
        let is_edit = arrival.replaces.is_some();
        if !self.may_write(&arrival.sender).await? {
            return if is_edit { Ok(()) } else { self.stranger(&arrival).await };
        }
        if is_edit {
            return self.edited(arrival).await;
        }
        self.outlet.health.forget_knock(&arrival.sender.id);
        let command = command::read(&arrival.text).filter(|_| !arrival.is_forwarded);
        let is_wanted = self.is_wanted(&arrival) || self.answers(command.as_ref(), &arrival);
        if is_wanted {
            self.outlet.health.received(self.clock().now());
        }
        match command {
            Some(_) if !is_wanted => Ok(()),
            Some(_) if self.is_stale(&arrival) => self.tell_too_old(&arrival).await,
            Some(command) => self.run_command(command, &arrival).await,
            None => self.take_in(arrival, is_wanted).await,
        }
    }

    /// Returns whether a message is for us.
    pub(super) fn is_wanted(&self, arrival: &Arrival) -> bool {
        match self.outlet.rules.groups {
            _ if arrival.is_private => true,
            GroupMode::Mention => arrival.is_addressed,
            GroupMode::All => true,
            GroupMode::Off => false,
        }
    }

    /// Stores a message: as part of the act that it belongs to, or as the beginning of one.
    async fn take_in(&self, arrival: Arrival, is_wanted: bool) -> Result<()> {
        if !is_wanted && self.outlet.rules.groups == GroupMode::Off {
            return Ok(());
        }
        self.waiting.has_room().await;
        let in_order = self.order.lock().await;
        if self.is_known(&arrival.id).await? {
            return Ok(());
        }
        let dialect = self.outlet.platform.dialect();
        let session = self.session(&Place::of(&self.outlet.rules, &arrival)).await?;
        let continues = |act: &Act| act.session == session && act.is_continued_by(&arrival, &dialect);
        if let Some(entry) = self.waiting.last_of(&arrival) {
            if continues(&entry.act) {
                let mut act = entry.act.clone();
                act.add(arrival);
                return self.waiting.replace(&entry, act).await;
            }
        } else if let Some(begun) = self.begun.last_of(self.storage(), &arrival).await?
            && continues(&begun.act)
            && self.withdraw(&begun).await?
        {
            // Nothing of its reply was shown, so a turn with all of it takes its place.
            let mut act = begun.act.clone().instead_of(begun.turn.clone());
            act.add(arrival);
            self.waiting.put(act).await?;
            drop(in_order);
            self.stop_running(&begun.act.session, &begun.turn).await;
            return Ok(());
        }
        if !is_wanted && !act::may_belong_to_an_act(&arrival, &dialect) {
            return Ok(());
        }
        self.waiting.close_before(&arrival);
        if let Some(begun) = self.begun.last_of(self.storage(), &arrival).await? {
            self.streams.gates.release(&begun.turn);
        }
        self.waiting.put(Act::new(arrival, session)).await
    }

    /// Returns whether a message was taken in before, by itself or as part of an act.
    async fn is_known(&self, id: &str) -> Result<bool> {
        Ok(self.waiting.find(id).is_some() || self.begun.part(self.storage(), id).await?.is_some())
    }

    /// Returns whether the message answers a prompt that is open in this chat. The prompt shows the wording, so it
    /// needs no mention.
    fn answers(&self, command: Option<&Command>, arrival: &Arrival) -> bool {
        match command {
            Some(Command::Answer(_, code)) => self.prompts.is_open(code, &arrival.chat),
            _ => false,
        }
    }

    /// Stops the turns of people who lose their access, while it is polled.
    pub(super) async fn watch_access(&self) {
        revoked::watch(&self.outlet, &self.streams, &*self.assistant).await;
    }

    /// Records that a sender was not admitted, so that the owner sees the id.
    pub(crate) fn note_knock(&self, sender: &str) {
        if self.outlet.health.note_knock(sender, self.now()) {
            let channel = self.outlet.channel();
            tracing::info!(channel, sender, "{}", knocks::sentence(channel, &visible::exact(sender)));
        }
    }

    /// Loads the unfinished messages of the previous run.
    pub(super) async fn resume(&self) -> Result<()> {
        for entry in self.waiting.load().await? {
            if let Some(turn) = &entry.act.instead {
                self.streams.gates.note_withdrawn(turn);
            }
            // It was called off, and the program ended before it was removed.
            let first = entry.act.parts.first().map(|part| part.id.as_str()).unwrap_or_default();
            if self.begun.part(self.storage(), first).await?.is_some_and(|known| known.is_dropped) {
                self.waiting.remove(&entry).await;
            }
        }
        Ok(())
    }

    /// Says something about a message's files, once: in the answer where the platform can and there is one, else in a message
    /// of its own.
    pub(super) async fn tell_beside(
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
        self.outlet.may_write(sender).await
    }

    /// Returns whether a stranger could gain access by writing now. `joined_at` is when we joined a room for
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
        tracing::info!(channel, sender, "a sender was paired");
        let subject = format!("{channel}/{sender}");
        let entry = AuditEntry::new(self.now(), AuditAction::Pairing, subject, "paired").by(sender);
        if let Err(error) = self.outlet.services.audit.record(entry).await {
            tracing::warn!(%error, "a row of the audit is in the log only");
        }
    }

    async fn stranger(&self, arrival: &Arrival) -> Result<()> {
        if arrival.is_private || arrival.is_addressed {
            self.note_knock(&arrival.sender.id);
        }
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
                self.outlet.health.forget_knock(sender);
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
                "a sender asks for access; `aethon-cli channels approve CODE` grants it"
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

    /// Processes a command whose answer the platform takes in place of a message. Returns that answer; `None` if
    /// there is none, because it is a stranger's, a duplicate, or not a command but a message.
    pub(crate) async fn answer_command(&self, arrival: Arrival) -> Result<Option<String>> {
        let command = command::read(&arrival.text);
        let is_wanted = arrival.is_private || self.outlet.rules.groups != GroupMode::Off;
        let Some(command) = command.filter(|_| is_wanted) else {
            self.arrive(arrival).await?;
            return Ok(None);
        };
        if !self.may_write(&arrival.sender).await? {
            self.stranger(&arrival).await?;
            return Ok(None);
        }
        self.outlet.health.received(self.clock().now());
        match self.is_new(&arrival).await? {
            true => Ok(Some(self.obey(command, &arrival).await?)),
            false => Ok(None),
        }
    }

    /// Sends a message of the program's own.
    pub(crate) async fn say(&self, chat: &str, text: String) -> Result<()> {
        self.outlet.say(chat, text).await
    }

    pub(super) async fn run_command(&self, command: Command, arrival: &Arrival) -> Result<()> {
        if !self.is_new(arrival).await? {
            return Ok(());
        }
        let answer = self.obey(command, arrival).await?;
        self.outlet.say(&arrival.chat, answer).await
    }

    /// Runs a command. Returns the answer.
    async fn obey(&self, command: Command, arrival: &Arrival) -> Result<String> {
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
        Ok(answer)
    }

    /// Returns the session in which a conversation continues.
    pub(super) async fn session(&self, place: &Place) -> Result<SessionId> {
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
    pub(super) async fn tell_once(&self, arrival: &Arrival, what: &str, text: String) -> Result<()> {
        let until = Some(self.clock().now() + SEEN_FOR);
        let name = format!("told:{what}:{}", arrival.id);
        if self.records().claim(self.outlet.channel(), &name, "", until).await? {
            self.outlet.say(&arrival.chat, text).await?;
        }
        Ok(())
    }

    /// Tells the person that a message is too old.
    pub(super) async fn tell_too_old(&self, arrival: &Arrival) -> Result<()> {
        self.tell_once(arrival, "stale", too_old(arrival.at)).await
    }

    pub(super) fn is_stale(&self, arrival: &Arrival) -> bool {
        let age = self.clock().now().duration_since(arrival.at);
        SignedDuration::try_from(self.outlet.rules.stale_after).is_ok_and(|most| age > most)
    }
}

/// Where the number of the current conversation at a place is stored.
fn counter(place: &Place) -> String {
    format!("session:{}", place.conversation)
}

fn too_old(at: Timestamp) -> String {
    let at = at.strftime("%Y-%m-%d %H:%M UTC");
    format!(
        "I was away, and your message of {at} is too old to be answered by now. Send it again if it still matters."
    )
}
