//! Delivers part by part: the parts are fixed at the first attempt and stored, and each is settled by itself.
//!
//! A reply that was shown in a message that grows is made whole there, and what does not fit goes on in ordinary messages. One
//! with headings or tables is one message where the platform shows such, and the parts are what is sent should it refuse that.
//!
//! Files are messages of their own behind the text, but where the platform attaches them to it.
//!
//! Once everything has arrived, the texts are dropped, and what stays only says so.
//!
//! A delivery that comes again, after a failure or a crash, goes on behind the last part that has arrived. Where nobody knows
//! whether a part has arrived, it is repeated for as long as the platform throws the second one away, and else once.

use std::borrow::Cow;
use std::time::Duration;

use aethon_core::channel::{DELIVERY_RECORDS, Delivery, DeliveryError};
use aethon_core::error::Error;
use aethon_core::message::Attachment;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::growth::{Growth, head};
use super::outlet::Outlet;
use super::place::HOUSEHOLD;
use super::platform::{Content, Fault};
use super::stream::{BEING_SENT, Streams, key_of, record_of};
use crate::text::{Styled, rich, split, styled};

/// How long a delivery waits for a call in the budget before it is put off.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// How long it is remembered what has arrived. Longer than any delivery lives.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often a part is sent whose arrival nobody knows, where the platform cannot tell.
const MOST_DOUBTS: u32 = 2;

/// What is stored of a delivery.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    parts: Vec<Styled>,
    /// The Markdown that is sent in the place of the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rich: Option<String>,
    /// The message that the first part takes the place of.
    replaces: Option<String>,
    /// Whether there may be such a message that nobody knows: a crash came while it was being sent.
    #[serde(default)]
    may_replace: bool,
    /// Whether the first part is Markdown for a message that grows.
    #[serde(default)]
    is_grown: bool,
    /// How many messages of it have arrived: parts, and behind them files.
    done: usize,
    /// How often the next one was sent without anybody knowing what became of it.
    doubts: u32,
    /// How many messages it took, once all have arrived. Its texts are not kept any longer then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<usize>,
}

/// Delivers, from where an earlier attempt has come to.
pub(super) async fn deliver(
    outlet: &Outlet,
    streams: &Streams,
    (chat, delivery): (&str, &Delivery),
) -> Result<(), DeliveryError> {
    if delivery.content.is_reply {
        streams.close(&delivery.turn).await;
    }
    let mut attempt = Attempt::load(outlet, (chat, delivery)).await?;
    if attempt.progress.over.is_some() {
        return Ok(());
    }
    while attempt.progress.done < attempt.steps() {
        attempt.next().await?;
    }
    attempt.end().await
}

struct Attempt<'a> {
    outlet: &'a Outlet,
    chat: &'a str,
    delivery: &'a Delivery,
    progress: Progress,
}

impl<'a> Attempt<'a> {
    async fn load(
        outlet: &'a Outlet,
        (chat, delivery): (&'a str, &'a Delivery),
    ) -> Result<Self, DeliveryError> {
        let records = &outlet.around.records;
        let stored = records.get(outlet.channel(), &name(delivery)).await.map_err(unstored)?;
        let stored: Option<Progress> = stored.and_then(|stored| serde_json::from_str(&stored).ok());
        // One of which a part came back after all is begun there, with its texts as they are made now.
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
            (outlet.platform.dialect(), text_of(delivery), outlet.growth.as_deref());
        let growth =
            growth.filter(|growth| replaces.as_ref().is_some_and(|message| growth.is_grown(message)));
        let grown = growth.and_then(|growth| grown_parts(outlet, growth, &text));
        let is_grown = grown.is_some();
        let parts = grown.unwrap_or_else(|| parts_of(outlet, &text));
        let fit = dialect.rich.filter(|_| delivery.content.is_reply && !is_grown && !parts.is_empty());
        let rich = fit.and_then(|fit| rich(&text, fit));
        let progress = Progress { parts, rich, replaces, may_replace, is_grown, done, doubts: 0, over: None };
        let attempt = Self { outlet, chat, delivery, progress };
        attempt.store().await?;
        Ok(attempt)
    }

    /// Everything has arrived: what it said is not needed any more.
    async fn end(&mut self) -> Result<(), DeliveryError> {
        self.progress.over = Some(self.steps());
        (self.progress.parts, self.progress.rich) = (Vec::new(), None);
        self.store().await
    }

    /// How many messages it takes.
    fn steps(&self) -> usize {
        let (parts, files) = (self.texts(), &self.delivery.content.attachments);
        match self.outlet.platform.dialect().attaches {
            None => parts + files.len(),
            // The last part has the first files with it.
            Some(most) => parts.saturating_sub(1) + bundles(files, most).len().max(usize::from(parts > 0)),
        }
    }

    /// How many of them are its text.
    fn texts(&self) -> usize {
        if self.progress.rich.is_some() { 1 } else { self.progress.parts.len() }
    }

    /// The text of this number.
    fn text(&self, number: usize) -> Option<Content<'_>> {
        match &self.progress.rich {
            Some(rich) => (number == 0).then_some(Content::Rich(rich)),
            None => self.progress.parts.get(number).map(Content::text),
        }
    }

    /// The message of this number.
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
        (text.is_some() || !files.is_empty()).then_some(Content::Letter { text, files })
    }

    /// Sends the next part or file.
    async fn next(&mut self) -> Result<(), DeliveryError> {
        if self.progress.doubts >= MOST_DOUBTS && !self.outlet.platform.dialect().sends_once {
            // Should the owner want it sent again after all, it is.
            self.progress.doubts = 0;
            self.store().await?;
            return Err(DeliveryError::lasting(
                "it was sent twice and nobody said whether it arrived; look before you send it again",
            ));
        }
        self.wait().await?;
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
                self.progress.doubts = 0;
                self.store().await
            }
            Err(fault @ (Fault::Gone(_) | Fault::Refused(_))) if is_edit && self.progress.is_grown => {
                // In the ordinary way then, and in the same place if that is there.
                self.progress.replaces.take_if(|_| matches!(fault, Fault::Gone(_)));
                self.progress.is_grown = false;
                self.progress.parts = parts_of(self.outlet, &text_of(self.delivery));
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
                // It was not done, so there is no doubt about it.
                self.progress.doubts = self.progress.doubts.saturating_sub(u32::from(!is_edit));
                self.store().await
            }
            Err(Fault::Refused(message) | Fault::Gone(message)) => Err(DeliveryError::lasting(message)),
            Err(Fault::Doubtful(message)) => Err(DeliveryError::passing(message)),
            Err(Fault::Later { message, after }) => {
                // It was not done, so there is no doubt about it.
                self.progress.doubts = self.progress.doubts.saturating_sub(u32::from(!is_edit && !is_search));
                self.store().await?;
                let error = DeliveryError::passing(message);
                Err(match after {
                    Some(pause) => error.after(pause),
                    None => error,
                })
            }
        }
    }

    /// Waits for a call in the budget of the chat, but not for long: others wait for their turn as well.
    async fn wait(&self) -> Result<(), DeliveryError> {
        while let Err(wait) = self.outlet.take(self.chat) {
            if wait > LONGEST_WAIT {
                return Err(DeliveryError::passing("the chat takes no more for now").after(wait));
            }
            sleep(wait).await;
        }
        Ok(())
    }

    /// Puts the first part in the place of what was shown while it was written. Twice is once, so nothing is noted before.
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

    /// Finds the message that was being sent when a crash came: under its key the platform sends none twice, so this is the one of
    /// then, or the first.
    async fn find(&mut self) -> Result<(), Fault> {
        let Some(part) = self.progress.parts.first() else {
            self.progress.may_replace = false;
            return Ok(());
        };
        let key = key_of(&self.delivery.turn);
        let message = self.outlet.post(self.chat, Content::text(part), &key).await?;
        (self.progress.replaces, self.progress.may_replace) = (Some(message), false);
        Ok(())
    }

    async fn post(&mut self) -> Result<Result<(), Fault>, DeliveryError> {
        // Noted before: a crash in the middle of it leaves the doubt.
        self.progress.doubts += 1;
        self.store().await?;
        let done = self.progress.done;
        let Some(content) = self.step(done) else { return Ok(Ok(())) };
        // Never the same in another home: a platform may remember keys of an account.
        let key = format!("{}-{}-{done}", self.delivery.turn, self.delivery.id);
        Ok(self.outlet.post(self.chat, content, &key).await.map(drop))
    }

    async fn store(&self) -> Result<(), DeliveryError> {
        let progress = serde_json::to_string(&self.progress)
            .map_err(|error| DeliveryError::lasting(format!("its parts cannot be stored: {error}")))?;
        let until = self.outlet.around.clock.now() + REMEMBERED;
        let records = &self.outlet.around.records;
        let stored = records.put(self.outlet.channel(), &name(self.delivery), &progress, Some(until)).await;
        stored.map_err(unstored)
    }
}

/// What is delivered. A reply in its own conversation stands below the question; what comes from elsewhere says what it was
/// made of.
fn text_of(delivery: &Delivery) -> Cow<'_, str> {
    let is_here = [delivery.content.channel.as_str(), HOUSEHOLD].contains(&delivery.session.channel());
    match delivery.content.is_reply && is_here {
        true => delivery.content.text.as_str().into(),
        false => delivery.content.labelled_text(),
    }
}

fn parts_of(outlet: &Outlet, text: &str) -> Vec<Styled> {
    split(&styled(text), outlet.platform.dialect().fit)
}

/// The same with a first part for a message that grows.
fn grown_parts(outlet: &Outlet, growth: &dyn Growth, text: &str) -> Option<Vec<Styled>> {
    let (head, rest) = head(text, growth.most()).filter(|(head, _)| !head.is_empty())?;
    let mut parts = vec![Styled::plain(head)];
    parts.extend(parts_of(outlet, rest));
    Some(parts)
}

/// Files in the order in which they come, as many together as fit. One that is larger goes by itself.
fn bundles(files: &[Attachment], most: usize) -> Vec<&[Attachment]> {
    let (mut bundles, mut begin, mut size) = (Vec::new(), 0, 0_usize);
    for (at, file) in files.iter().enumerate() {
        if at > begin && size.saturating_add(file.data.len()) > most {
            bundles.push(&files[begin..at]);
            (begin, size) = (at, 0);
        }
        size = size.saturating_add(file.data.len());
    }
    if begin < files.len() {
        bundles.push(&files[begin..]);
    }
    bundles
}

/// Something that was sent under this key has failed after all: its delivery is given up, and begins with that part should
/// the owner want it sent again.
pub(super) async fn returned(outlet: &Outlet, key: &str, why: &str) -> Result<(), Error> {
    let mut pieces = key.rsplit('-');
    let numbers =
        (pieces.next().and_then(|part| part.parse().ok()), pieces.next().and_then(|id| id.parse().ok()));
    let (Some(part), Some(id)): (Option<usize>, Option<i64>) = numbers else {
        // A question, or a sign of the program's own: of use only then.
        tracing::warn!(channel = outlet.channel(), why, "a message that was shown has failed");
        return Ok(());
    };
    let (records, name) = (&outlet.around.records, format!("{DELIVERY_RECORDS}{id}"));
    let stored = records.get(outlet.channel(), &name).await?;
    if let Some(mut progress) = stored.and_then(|stored| serde_json::from_str::<Progress>(&stored).ok()) {
        (progress.done, progress.doubts) = (progress.done.min(part), 0);
        let progress =
            serde_json::to_string(&progress).map_err(|error| Error::internal(error.to_string()))?;
        let until = outlet.around.clock.now() + REMEMBERED;
        records.put(outlet.channel(), &name, &progress, Some(until)).await?;
    }
    tracing::warn!(channel = outlet.channel(), delivery = id, why, "a delivery that was sent has failed");
    outlet.around.courier.returned(id, why).await
}

fn name(delivery: &Delivery) -> String {
    format!("{DELIVERY_RECORDS}{}", delivery.id)
}

fn unstored(error: Error) -> DeliveryError {
    DeliveryError::passing(format!("what has arrived could not be stored: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_together_as_far_as_they_fit() {
        let check = |sizes: &[usize], expected: &[usize]| {
            let file = |size: &usize| Attachment::new("a", "text/plain", "x".repeat(*size));
            let files: Vec<Attachment> = sizes.iter().map(file).collect();
            let counts: Vec<usize> = bundles(&files, 10).iter().map(|bundle| bundle.len()).collect();
            assert_eq!(counts, expected, "{sizes:?}");
        };
        check(&[], &[]);
        check(&[4, 4], &[2]);
        check(&[4, 4, 4], &[2, 1]);
        check(&[20, 1, 20], &[1, 1, 1]);
        check(&[5, 5], &[2]);
    }
}
