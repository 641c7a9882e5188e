//! Shows a reply while it is written: in a message that is edited, in one that grows, or in a draft.

use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

use super::growing_reply::{BEING_SENT, Stream, key_of, lock, record_of};
use super::growth::{AppendOnlyMessages, head};
use super::outlet::RateLimitedSender;
use super::platform::{Content, Fault};
use super::reply_gates::{Gates, Passage};
use crate::text::{Fit, Styled, split, styled};

/// The minimum time between edits, whatever the budget allows.
const STEP: Duration = Duration::from_secs(1);
/// How long the message of a turn is remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often showing may fail before the rest is left to the delivery.
pub(super) const MAX_FAILURES: u32 = 3;
/// When an unchanged draft is shown again, well before it expires.
const DRAFT_RENEWAL: Duration = Duration::from_secs(20);
const GROWS: &str = " …";
const STOPPED: &str = " … (stopped)";

/// The state of showing a reply.
pub(super) struct Showing<'s> {
    /// The message to which the reply replies.
    pub(super) question: Option<String>,
    pub(super) outlet: &'s RateLimitedSender,
    pub(super) gates: &'s Gates,
    pub(super) stream: &'s Stream,
    pub(super) message: Option<String>,
    /// Lets it grow, for as long as it can.
    pub(super) growth: Option<&'s dyn AppendOnlyMessages>,
    /// When the current draft was shown.
    pub(super) drafted: Option<Instant>,
    pub(super) failures: u32,
}

impl Showing<'_> {
    /// Returns whether the reader sees nothing of the reply yet.
    pub(super) fn is_blank(&self) -> bool {
        self.message.is_none() && self.drafted.is_none()
    }

    pub(super) fn fades_soon(&self, now: Instant) -> bool {
        self.message.is_none() && self.drafted.is_some_and(|drafted| drafted + DRAFT_RENEWAL <= now)
    }

    /// Shows the current text. Returns how long to wait before the next step.
    pub(super) async fn step(&mut self) -> Duration {
        let chat = &self.stream.chat;
        if let Some(wait) = self.waits().await {
            return wait;
        }
        if let Err(wait) = self.outlet.take(chat) {
            return wait;
        }
        let text = {
            let mut state = lock(&self.stream.state);
            state.is_dirty = false;
            state.text.clone()
        };
        let dialect = self.outlet.platform.dialect();
        let is_draft = self.growth.is_none() && self.message.is_none() && (dialect.drafts)(chat);
        let shown = match self.growth {
            Some(growth) => self.grow(growth, &text).await,
            None => self.show(&text, is_draft).await,
        };
        self.settle(shown, is_draft)
    }

    /// Returns how long to wait before anything may be shown; `None` if it may be shown now.
    async fn waits(&mut self) -> Option<Duration> {
        if self.outlet.health.admits(false).is_err() {
            return Some(STEP);
        }
        if self.is_blank() {
            match self.gates.pass(&self.stream.turn) {
                Passage::Open => {}
                Passage::NotBefore(at) => return Some(at.duration_since(Instant::now())),
                Passage::Closed => {
                    self.failures = MAX_FAILURES;
                    return Some(STEP);
                }
            }
        }
        // Earlier messages must appear above it.
        (self.message.is_none() && self.outlet.is_waiting(&self.stream.chat).await).then_some(STEP)
    }

    /// Notes whether the text was shown. Returns how long to wait before the next step.
    fn settle(&mut self, shown: Result<(), Fault>, is_draft: bool) -> Duration {
        let (chat, dialect) = (&self.stream.chat, self.outlet.platform.dialect());
        match shown {
            Ok(()) => STEP.max((dialect.pace)(chat)),
            Err(Fault::Refused(why) | Fault::Gone(why)) if self.growth.is_some() => {
                tracing::debug!(
                    channel = self.outlet.channel(),
                    why,
                    "a reply is shown in a message that does not grow"
                );
                self.growth = None;
                lock(&self.stream.state).is_dirty = true;
                Duration::ZERO
            }
            Err(Fault::Later { after, .. }) => {
                lock(&self.stream.state).is_dirty = true;
                after.unwrap_or(STEP * 2)
            }
            // The platform turned out not to have drafts, which its dialect now says.
            Err(Fault::Refused(_)) if is_draft && !(self.outlet.platform.dialect().drafts)(chat) => {
                self.drafted = None;
                lock(&self.stream.state).is_dirty = true;
                STEP
            }
            Err(fault) => {
                self.failures += 1;
                // After a doubtful first message, another one could be a duplicate, unless the platform deduplicates.
                if self.message.is_none() && !is_draft && !dialect.sends_once {
                    self.failures = MAX_FAILURES;
                }
                tracing::debug!(
                    channel = self.outlet.channel(),
                    error = fault.message(),
                    "a reply could not be shown as it grows"
                );
                STEP
            }
        }
    }

    /// Grows the message to this text.
    async fn grow(&mut self, growth: &dyn AppendOnlyMessages, text: &str) -> Result<(), Fault> {
        let Some((text, _)) = head(text, growth.most()) else {
            return Err(Fault::Refused("there is no place to cut it".into()));
        };
        let (outlet, stream) = (self.outlet, self.stream);
        match self.message.clone() {
            _ if text.is_empty() => Ok(()),
            Some(message) => outlet.grown(&stream.chat, growth.grow(&message, text)).await,
            None => {
                let key = key_of(&stream.turn);
                self.first(outlet.start(growth, &stream.chat, &stream.asked, text, &key)).await
            }
        }
    }

    /// Replaces the content of the message or draft.
    async fn show(&mut self, text: &str, is_draft: bool) -> Result<(), Fault> {
        let (outlet, stream) = (self.outlet, self.stream);
        let Some(part) = beginning(text, outlet.platform.dialect().fit, GROWS) else { return Ok(()) };
        match self.message.clone() {
            Some(message) => outlet.edit(&stream.chat, &message, Content::text(&part)).await,
            None if is_draft => self.draft(&part).await,
            None => {
                let key = key_of(&stream.turn);
                let question = self.question.clone();
                let content = Content::text(&part);
                self.first(outlet.post_reply(&stream.chat, content, &key, question.as_deref())).await
            }
        }
    }

    /// Shows the text as a draft. This is idempotent and replaces the earlier draft.
    async fn draft(&mut self, part: &Styled) -> Result<(), Fault> {
        self.outlet.post(&self.stream.chat, Content::Draft(part), &key_of(&self.stream.turn)).await?;
        self.drafted = Some(Instant::now());
        Ok(())
    }

    async fn first(&mut self, sent: impl Future<Output = Result<String, Fault>>) -> Result<(), Fault> {
        let turn = &self.stream.turn;
        let until = self.outlet.services.clock.now() + REMEMBERED;
        let records = &self.outlet.services.records;
        // Stored first, so that after a crash during the attempt, the delivery knows that a message may exist.
        let noted = records.put(self.outlet.channel(), &record_of(turn), BEING_SENT, Some(until)).await;
        noted.map_err(|error| Fault::later(error.to_string()))?;
        let message = sent.await?;
        let stored = records.put(self.outlet.channel(), &record_of(turn), &message, Some(until)).await;
        if let Err(error) = stored {
            tracing::warn!(channel = self.outlet.channel(), %error, "the message of a reply could not be remembered");
        }
        self.message = Some(message);
        Ok(())
    }

    /// Marks the visible part as stopped. Nothing follows it.
    pub(super) async fn stopped(&mut self) {
        let Some(message) = self.message.clone() else { return };
        let text = lock(&self.stream.state).text.clone();
        let Some(part) = beginning(&text, self.outlet.platform.dialect().fit, STOPPED) else { return };
        let mut growth = self.growth.and_then(|growth| {
            let (head, _) = head(&text, growth.most().saturating_sub(STOPPED.len()))?;
            Some((growth, format!("{head}{STOPPED}")))
        });
        for _ in 0..3 {
            while let Err(wait) = self.outlet.take(&self.stream.chat) {
                tokio::time::sleep(wait).await;
            }
            let chat = &self.stream.chat;
            let ended = match &growth {
                Some((growth, text)) => self.outlet.grown(chat, growth.finish(&message, text)).await,
                None => self.outlet.edit(chat, &message, Content::text(&part)).await,
            };
            match ended {
                Err(Fault::Later { .. } | Fault::Doubtful(_) | Fault::Identity(_) | Fault::Unclear(_)) => {}
                Err(Fault::Refused(_)) if growth.is_some() => growth = None,
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// Returns the first part of a text that continues.
fn beginning(text: &str, fit: Fit, ending: &str) -> Option<Styled> {
    let fit = Fit { length: fit.length.saturating_sub(ending.len()), ..fit };
    let mut part = split(&styled(text), fit).into_iter().next()?;
    part.text.push_str(ending);
    Some(part)
}
