//! Delivers part by part: the parts are fixed and stored at the first attempt, and each is settled separately.
//!
//! A reply shown in a growing message is completed there, and what does not fit continues in ordinary messages. A
//! reply with headings or tables is one rich message where the platform has them; the parts are sent if it refuses.
//!
//! Files are separate messages after the text, unless the platform attaches them.
//!
//! When everything has arrived, the texts are dropped and only that fact is kept.
//!
//! A delivery that is retried after a failure or a crash continues after the last part that arrived. If it is unknown
//! whether a part arrived, it is repeated: without limit if the platform discards duplicates, otherwise once, and only while the
//! channel receives.
//!
//! While the platform cannot be reached or does not accept us, deliveries wait without an attempt. Only the platform's own word
//! about the recipient or the content is final; a refusal without one is tried again some times.

use std::time::Duration;

use aethon_core::channel::{DELIVERY_RECORDS, Delivery, DeliveryError};
use aethon_core::error::Error;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::act::Act;
use super::begun;
use super::growing_reply::{BEING_SENT, key_of, record_of};
use super::outlet::RateLimitedSender;
use super::parts::{bundles, grown_parts, parts_of, text_of};
use super::platform::{Content, Fault};
use super::reply_gates::{ReplyTerms, terms_record_of, withdrawal_of};
use super::stream::Streams;
use super::waiting;
use crate::text::{Styled, rich};

/// How long a delivery waits for the rate budget before it is postponed.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// How long sent messages are remembered. Longer than the lifetime of any delivery.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often a part with unknown outcome is sent, if the platform cannot deduplicate.
const MAX_DOUBTS: u32 = 2;
/// How many waiting acts are looked through for the one that takes the place of a reply's turn.
const MAX_WAITING: usize = 200;
/// How often a part may be refused without a word about it.
const MAX_REFUSALS: u32 = 8;
/// Where the end of a pause is stored that the platform asked for in a chat.
const PAUSED: &str = "paused:";
/// Shorter pauses are not stored.
const SHORT_PAUSE: Duration = Duration::from_secs(2);
/// How many chats with a pause are read at the start.
const MAX_PAUSED: usize = 1000;

/// The stored state of a delivery.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    parts: Vec<Styled>,
    /// The Markdown to send in place of the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rich: Option<String>,
    /// The message that the first part replaces.
    replaces: Option<String>,
    /// Whether such a message may exist without its id being known, because of a crash while it was sent.
    #[serde(default)]
    may_replace: bool,
    /// Whether the first part is Markdown for a growing message.
    #[serde(default)]
    is_grown: bool,
    /// How many of its messages have arrived: parts, then files.
    done: usize,
    /// How often the next one was sent with unknown outcome.
    doubts: u32,
    /// How often it was refused without a word about it.
    #[serde(default, skip_serializing_if = "is_zero")]
    refusals: u32,
    /// The number of its messages, once all have arrived. Its texts are dropped then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<usize>,
    /// The message to which the first part replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// The remarks at the head of the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Goes on with the pauses that platforms asked for before a restart.
pub(super) async fn keep_pauses(outlet: &RateLimitedSender) -> Result<(), Error> {
    let now = outlet.services.clock.now();
    for (name, until) in outlet.services.records.list(outlet.channel(), PAUSED, MAX_PAUSED).await? {
        let until = until.parse().ok().and_then(|until| Timestamp::from_millisecond(until).ok());
        let left = until.and_then(|until| Duration::try_from(until.duration_since(now)).ok());
        if let (Some(chat), Some(left)) = (name.strip_prefix(PAUSED), left) {
            outlet.budget.close(chat, left);
        }
    }
    Ok(())
}

/// Delivers, continuing after an earlier attempt.
pub(super) async fn deliver(
    outlet: &RateLimitedSender,
    streams: &Streams,
    (chat, delivery): (&str, &Delivery),
) -> Result<(), DeliveryError> {
    if delivery.content.is_reply {
        if !may_be_shown(outlet, streams, (chat, delivery)).await? {
            return Ok(());
        }
        streams.close(&delivery.turn).await;
    }
    let terms = match delivery.content.is_reply {
        true => terms_of(outlet, streams, delivery).await?,
        false => ReplyTerms::default(),
    };
    let mut attempt = Attempt::load(outlet, (chat, delivery), terms).await?;
    if attempt.progress.over.is_some() {
        return Ok(());
    }
    while attempt.progress.done < attempt.steps() {
        attempt.next().await?;
    }
    attempt.end().await
}

struct Attempt<'a> {
    outlet: &'a RateLimitedSender,
    chat: &'a str,
    delivery: &'a Delivery,
    progress: Progress,
}

impl<'a> Attempt<'a> {
    async fn load(
        outlet: &'a RateLimitedSender,
        (chat, delivery): (&'a str, &'a Delivery),
        terms: ReplyTerms,
    ) -> Result<Self, DeliveryError> {
        let records = &outlet.services.records;
        let stored = records.get(outlet.channel(), &name(delivery)).await.map_err(unstored)?;
        let stored: Option<Progress> = stored.and_then(|stored| serde_json::from_str(&stored).ok());
        // If a part of a complete delivery came back as failed, restart from that part, with the texts rendered again.
        let is_whole = |progress: &Progress| progress.over.is_none_or(|over| progress.done >= over);
        let done = stored.as_ref().map_or(0, |progress| progress.done);
        if let Some(progress) = stored.filter(is_whole) {
            return Ok(Self { outlet, chat, delivery, progress });
        }
        let replaces = match delivery.content.is_reply && done == 0 {
            true => records.get(outlet.channel(), &record_of(&delivery.turn)).await.map_err(unstored)?,
            false => None,
        };
        let may_replace = replaces.as_deref() == Some(BEING_SENT) && outlet.platform.dialect().sends_once;
        let replaces = replaces.filter(|message| message != BEING_SENT);
        let (dialect, text, growth) =
            (outlet.platform.dialect(), text_of(delivery, &terms.notes), outlet.growth.as_deref());
        let growth =
            growth.filter(|growth| replaces.as_ref().is_some_and(|message| growth.is_grown(message)));
        let grown = growth.and_then(|growth| grown_parts(outlet, growth, &text));
        let is_grown = grown.is_some();
        let parts = grown.unwrap_or_else(|| parts_of(outlet, &text));
        let fit = dialect.rich.filter(|_| delivery.content.is_reply && !is_grown && !parts.is_empty());
        let rich = fit.and_then(|fit| rich(&text, fit));
        let ReplyTerms { question, notes } = terms;
        let progress = Progress {
            parts,
            rich,
            replaces,
            may_replace,
            is_grown,
            done,
            doubts: 0,
            refusals: 0,
            over: None,
            question,
            notes,
        };
        let attempt = Self { outlet, chat, delivery, progress };
        attempt.store().await?;
        Ok(attempt)
    }

    /// Everything has arrived, so drop the texts.
    async fn end(&mut self) -> Result<(), DeliveryError> {
        self.progress.over = Some(self.steps());
        (self.progress.parts, self.progress.rich) = (Vec::new(), None);
        self.progress.notes = Vec::new();
        self.store().await
    }

    /// Returns the number of messages.
    fn steps(&self) -> usize {
        let (parts, files) = (self.texts(), &self.delivery.content.attachments);
        match self.outlet.platform.dialect().attaches {
            None => parts + files.len(),
            // The last part carries the first files.
            Some(most) => parts.saturating_sub(1) + bundles(files, most).len().max(usize::from(parts > 0)),
        }
    }

    /// Returns the number of text messages.
    fn texts(&self) -> usize {
        if self.progress.rich.is_some() { 1 } else { self.progress.parts.len() }
    }

    /// Returns the text with this number.
    fn text(&self, number: usize) -> Option<Content<'_>> {
        match &self.progress.rich {
            Some(rich) => (number == 0).then_some(Content::Rich(rich)),
            None => self.progress.parts.get(number).map(Content::text),
        }
    }

    /// Returns the message with this number.
    fn step(&self, number: usize) -> Option<Content<'_>> {
        let (parts, files) = (&self.progress.parts, self.delivery.content.attachments.as_slice());
        let Some(most) = self.outlet.platform.dialect().attaches else {
            let file = || files.get(number.checked_sub(self.texts())?).map(Content::File);
            return self.text(number).or_else(file);
        };
        let last = parts.len().saturating_sub(1);
        let Some(bundle) = number.checked_sub(last) else { return parts.get(number).map(Content::text) };
        let files = bundles(files, most).get(bundle).copied().unwrap_or_default();
        let text = parts.last().filter(|_| bundle == 0);
        (text.is_some() || !files.is_empty()).then_some(Content::TextWithFiles { text, files })
    }

    /// Sends the next part or file.
    async fn next(&mut self) -> Result<(), DeliveryError> {
        if self.progress.doubts >= MAX_DOUBTS && !self.outlet.platform.dialect().sends_once {
            // If the owner decides to send it again after all, it is sent.
            self.progress.doubts = 0;
            self.store().await?;
            return Err(DeliveryError::lasting(
                "it was sent twice without a confirmation; check the chat before you send it again",
            ));
        }
        let is_repeat = self.progress.doubts > 0 && !self.outlet.platform.dialect().sends_once;
        let admits = || self.outlet.health.admits(is_repeat).map_err(DeliveryError::held);
        admits()?;
        self.wait().await?;
        admits()?;
        let is_edit = self.progress.done == 0 && self.progress.replaces.is_some();
        let is_search = self.progress.done == 0 && self.progress.may_replace;
        let is_rich = self.progress.done == 0 && self.progress.rich.is_some();
        let sent = match (is_search, is_edit) {
            (true, _) => self.find().await,
            (_, true) => self.edit().await,
            _ => self.post().await?,
        };
        match sent {
            Ok(()) if is_search => self.store().await,
            Ok(()) => {
                self.progress.done += 1;
                (self.progress.doubts, self.progress.refusals) = (0, 0);
                self.store().await
            }
            Err(fault @ (Fault::Gone(_) | Fault::Refused(_))) if is_edit && self.progress.is_grown => {
                // Continue in the ordinary way, in the same message if it still exists.
                self.progress.replaces.take_if(|_| matches!(fault, Fault::Gone(_)));
                self.progress.is_grown = false;
                let text = text_of(self.delivery, &self.progress.notes).into_owned();
                self.progress.parts = parts_of(self.outlet, &text);
                self.store().await
            }
            Err(Fault::Gone(_)) if is_edit => {
                self.progress.replaces = None;
                self.store().await
            }
            Err(Fault::Refused(message)) if is_rich => {
                tracing::debug!(
                    channel = self.outlet.channel(),
                    message,
                    "a reply goes out in the ordinary form"
                );
                self.progress.rich = None;
                // It was certainly not sent.
                self.progress.doubts = self.progress.doubts.saturating_sub(u32::from(!is_edit));
                self.store().await
            }
            Err(Fault::Refused(message) | Fault::Gone(message)) => Err(DeliveryError::lasting(message)),
            Err(Fault::Doubtful(message)) => Err(DeliveryError::passing(message)),
            Err(fault) => {
                // It was certainly not sent.
                self.progress.doubts = self.progress.doubts.saturating_sub(u32::from(!is_edit && !is_search));
                Err(self.postponed(fault).await?)
            }
        }
    }

    /// Returns what becomes of a delivery that was certainly not sent but may be later.
    async fn postponed(&mut self, fault: Fault) -> Result<DeliveryError, DeliveryError> {
        self.progress.refusals += u32::from(matches!(fault, Fault::Unclear(_)));
        if self.progress.refusals >= MAX_REFUSALS {
            // If the owner decides to send it again after all, it is sent.
            self.progress.refusals = 0;
            self.store().await?;
            return Ok(DeliveryError::lasting(fault.message()));
        }
        self.store().await?;
        Ok(match fault {
            Fault::Identity(message) if self.outlet.health.is_looked_after() => DeliveryError::held(message),
            Fault::Identity(message) => DeliveryError::lasting(message),
            Fault::Later { message, after: Some(pause) } => {
                self.keep_pause(pause).await;
                DeliveryError::passing(message).after(pause)
            }
            fault => DeliveryError::passing(fault.message()),
        })
    }

    /// Stores a pause that the platform asks for, so that it is kept after a restart.
    async fn keep_pause(&self, pause: Duration) {
        let Ok(left) = SignedDuration::try_from(pause) else { return };
        let Ok(until) = self.outlet.services.clock.now().checked_add(left) else { return };
        let (records, name) = (&self.outlet.services.records, format!("{PAUSED}{}", self.chat));
        let value = until.as_millisecond().to_string();
        if pause > SHORT_PAUSE
            && let Err(error) = records.put(self.outlet.channel(), &name, &value, Some(until)).await
        {
            tracing::debug!(channel = self.outlet.channel(), %error, "a pause would be forgotten by a restart");
        }
    }

    /// Waits briefly for the rate budget of the chat; other deliveries must not wait long.
    async fn wait(&self) -> Result<(), DeliveryError> {
        while let Err(wait) = self.outlet.take(self.chat) {
            if wait > MAX_WAIT {
                return Err(DeliveryError::passing("the chat takes no more for now").after(wait));
            }
            sleep(wait).await;
        }
        Ok(())
    }

    /// Replaces the preview with the first part. Editing is idempotent, so nothing is recorded first.
    async fn edit(&self) -> Result<(), Fault> {
        let (Some(message), Some(text)) = (&self.progress.replaces, self.text(0)) else {
            return Err(Fault::Gone("there is nothing to put in its place".into()));
        };
        if !self.progress.is_grown {
            return self.outlet.edit(self.chat, message, text).await;
        }
        let (Some(growth), Some(part)) = (self.outlet.growth.as_deref(), self.progress.parts.first()) else {
            return Err(Fault::Refused("messages do not grow any more".into()));
        };
        self.outlet.grown(self.chat, growth.finish(message, &part.text)).await
    }

    /// Finds the message that was being sent during a crash. The platform deduplicates by key, so this returns that
    /// message or creates the first one.
    async fn find(&mut self) -> Result<(), Fault> {
        let Some(part) = self.progress.parts.first() else {
            self.progress.may_replace = false;
            return Ok(());
        };
        let key = key_of(&self.delivery.turn);
        let question = self.progress.question.as_deref();
        let message = self.outlet.post_reply(self.chat, Content::text(part), &key, question).await?;
        (self.progress.replaces, self.progress.may_replace) = (Some(message), false);
        Ok(())
    }

    async fn post(&mut self) -> Result<Result<(), Fault>, DeliveryError> {
        // Stored first, so that a crash during the attempt leaves the doubt on record.
        self.progress.doubts += 1;
        self.store().await?;
        let done = self.progress.done;
        let Some(content) = self.step(done) else { return Ok(Ok(())) };
        // Unique across installations, because a platform may remember the keys of an account.
        let key = format!("{}-{}-{done}", self.delivery.turn, self.delivery.id);
        let question = self.progress.question.as_deref().filter(|_| done == 0);
        Ok(self.outlet.post_reply(self.chat, content, &key, question).await.map(drop))
    }

    async fn store(&self) -> Result<(), DeliveryError> {
        let progress = serde_json::to_string(&self.progress)
            .map_err(|error| DeliveryError::lasting(format!("its parts cannot be stored: {error}")))?;
        let until = self.outlet.services.clock.now() + REMEMBERED;
        let records = &self.outlet.services.records;
        let stored = records.put(self.outlet.channel(), &name(self.delivery), &progress, Some(until)).await;
        stored.map_err(unstored)
    }
}

/// Waits until a reply may be shown, and records that it is. Returns `false` if it never may.
async fn may_be_shown(
    outlet: &RateLimitedSender,
    streams: &Streams,
    (chat, delivery): (&str, &Delivery),
) -> Result<bool, DeliveryError> {
    let turn = &delivery.turn;
    if is_withdrawn(outlet, delivery).await? {
        return Ok(false);
    }
    if !streams.gates.knows(turn) && begun::is_recent(outlet, chat, turn).await.map_err(unstored)? {
        // The program was away, and messages that the person sent meanwhile may belong to it.
        let opens_at = Instant::now() + Act::reply_delay(&outlet.platform.dialect());
        streams.gates.note(turn, opens_at, &ReplyTerms::default());
    }
    if !streams.gates.wait(turn).await {
        return Ok(false);
    }
    begun::note_shown(outlet, turn).await.map_err(unstored)?;
    Ok(true)
}

/// Returns whether another turn has taken the place of a reply's turn, or is about to.
async fn is_withdrawn(outlet: &RateLimitedSender, delivery: &Delivery) -> Result<bool, DeliveryError> {
    let (records, turn) = (&outlet.services.records, &delivery.turn);
    let noted = records.get(outlet.channel(), &withdrawal_of(turn)).await.map_err(unstored)?;
    if noted.is_some() {
        return Ok(true);
    }
    // After a crash, the act that takes its place may not have been loaded yet.
    let waiting = records.list(outlet.channel(), waiting::RECORDS, MAX_WAITING).await.map_err(unstored)?;
    let acts = waiting.iter().filter_map(|(_, act)| Act::read(act).ok());
    Ok(acts.into_iter().any(|act| act.instead.as_ref() == Some(turn)))
}

async fn terms_of(
    outlet: &RateLimitedSender,
    streams: &Streams,
    delivery: &Delivery,
) -> Result<ReplyTerms, DeliveryError> {
    if let Some(terms) = streams.gates.terms(&delivery.turn).filter(|terms| !terms.is_plain()) {
        return Ok(terms);
    }
    let records = &outlet.services.records;
    let stored = records.get(outlet.channel(), &terms_record_of(&delivery.turn)).await.map_err(unstored)?;
    Ok(stored.and_then(|terms| serde_json::from_str(&terms).ok()).unwrap_or_default())
}

/// Handles a message that failed after it was accepted: its delivery is given up, and would restart with that part if
/// the owner retries it.
pub(super) async fn returned(outlet: &RateLimitedSender, key: &str, why: &str) -> Result<(), Error> {
    let mut pieces = key.rsplit('-');
    let numbers =
        (pieces.next().and_then(|part| part.parse().ok()), pieces.next().and_then(|id| id.parse().ok()));
    let (Some(part), Some(id)): (Option<usize>, Option<i64>) = numbers else {
        // A prompt or a message of the program itself: useful only at that time.
        tracing::warn!(channel = outlet.channel(), why, "a message that was shown has failed");
        return Ok(());
    };
    let (records, name) = (&outlet.services.records, format!("{DELIVERY_RECORDS}{id}"));
    let stored = records.get(outlet.channel(), &name).await?;
    if let Some(mut progress) = stored.and_then(|stored| serde_json::from_str::<Progress>(&stored).ok()) {
        (progress.done, progress.doubts) = (progress.done.min(part), 0);
        let progress =
            serde_json::to_string(&progress).map_err(|error| Error::internal(error.to_string()))?;
        let until = outlet.services.clock.now() + REMEMBERED;
        records.put(outlet.channel(), &name, &progress, Some(until)).await?;
    }
    tracing::warn!(channel = outlet.channel(), delivery = id, why, "a delivery that was sent has failed");
    outlet.services.courier.returned(id, why).await
}

fn name(delivery: &Delivery) -> String {
    format!("{DELIVERY_RECORDS}{}", delivery.id)
}

fn unstored(error: Error) -> DeliveryError {
    DeliveryError::passing(format!("the arrival of a part could not be stored: {error}"))
}
