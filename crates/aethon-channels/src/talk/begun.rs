//! What became of the messages that were taken in: which turn each one began, and the acts whose turns began last.
//!
//! A message that comes again is recognised by its id for a week, and an edit finds the turn of its message. The words of
//! an act are kept for some minutes only, for additions and edits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::channel::ChannelRecords;
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::act::{Act, content_digest};
use super::growing_reply::record_of;
use super::outlet::RateLimitedSender;
use super::platform::Arrival;

/// How long messages are recognised that come again; `intake::KNOWN_FOR` is the same time for the engine.
pub(super) const SEEN_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How many acts are remembered here.
const MAX_COUNT: usize = 200;
/// Where the last act of a person in a chat is stored.
const LAST: &str = "act:";
/// How long the last act of a person in a chat is stored.
const LAST_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The acts of a channel whose turns have begun.
#[derive(Default)]
pub(super) struct BegunActs(Mutex<VecDeque<BegunAct>>);

/// An act and its turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BegunAct {
    pub(super) act: Act,
    pub(super) turn: TurnId,
}

/// The facts about a message that was taken in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KnownPart {
    pub(super) sender: String,
    pub(super) session: SessionId,
    /// Its turn; `None` if it began none.
    pub(super) turn: Option<TurnId>,
    pub(super) digest: String,
    pub(super) at: Timestamp,
    /// Whether other messages belong to the same act.
    pub(super) has_others: bool,
    /// Whether the person called it off, so that nothing brings it back.
    #[serde(default)]
    pub(super) is_dropped: bool,
}

/// The storage of a channel.
#[derive(Clone, Copy)]
pub(super) struct Storage<'s> {
    pub(super) records: &'s dyn ChannelRecords,
    pub(super) channel: &'s str,
    pub(super) now: Timestamp,
}

impl BegunActs {
    /// Records that an act was processed, with its turn if it began one.
    pub(super) async fn note(&self, storage: Storage<'_>, act: &Act, turn: Option<&TurnId>) -> Result<()> {
        let Storage { records, channel, now } = storage;
        self.note_parts(storage, act, turn, false).await?;
        let Some((turn, head)) = turn.zip(act.parts.first()) else { return Ok(()) };
        let begun = BegunAct { act: act.clone(), turn: turn.clone() };
        records.put(channel, &last_record(head), &json(&begun)?, Some(now + LAST_FOR)).await?;
        let mut all = self.lock();
        all.retain(|other| other.act.id != act.id);
        if all.len() >= MAX_COUNT {
            all.pop_front();
        }
        all.push_back(begun);
        Ok(())
    }

    /// Records that an act was called off: nothing is added to it any more, and nothing takes its place.
    pub(super) async fn note_dropped(&self, storage: Storage<'_>, act: &Act) -> Result<()> {
        self.note_parts(storage, act, None, true).await?;
        let Some(head) = act.parts.first() else { return Ok(()) };
        self.lock().retain(|other| other.act.id != act.id);
        let (name, Storage { records, channel, .. }) = (last_record(head), storage);
        let stored = records.get(channel, &name).await?;
        let last = stored.and_then(|begun| serde_json::from_str::<BegunAct>(&begun).ok());
        if last.is_some_and(|begun| begun.act.id == act.id) {
            records.take(channel, &name).await?;
        }
        Ok(())
    }

    async fn note_parts(
        &self,
        storage: Storage<'_>,
        act: &Act,
        turn: Option<&TurnId>,
        is_dropped: bool,
    ) -> Result<()> {
        for part in &act.parts {
            let known = KnownPart {
                sender: part.sender.id.clone(),
                session: act.session.clone(),
                turn: turn.cloned(),
                digest: content_digest(part),
                at: part.at,
                has_others: act.parts.len() > 1,
                is_dropped,
            };
            self.put_part(storage, &part.id, &known).await?;
        }
        Ok(())
    }

    /// Returns whether anyone's last act in a session began a later turn than this one.
    pub(super) async fn has_later(
        &self,
        storage: Storage<'_>,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<bool> {
        let is_later = |begun: &BegunAct| begun.act.session == *session && begun.turn > *turn;
        if self.lock().iter().any(is_later) {
            return Ok(true);
        }
        let last = storage.records.list(storage.channel, LAST, MAX_COUNT).await?;
        let mut acts = last.iter().filter_map(|(_, begun)| serde_json::from_str::<BegunAct>(begun).ok());
        Ok(acts.any(|begun| is_later(&begun)))
    }

    /// Stores the facts about a message.
    pub(super) async fn put_part(&self, storage: Storage<'_>, id: &str, known: &KnownPart) -> Result<()> {
        let Storage { records, channel, now } = storage;
        records.put(channel, &part_record(id), &json(known)?, Some(now + SEEN_FOR)).await
    }

    /// Returns the facts about a message.
    pub(super) async fn part(&self, storage: Storage<'_>, id: &str) -> Result<Option<KnownPart>> {
        let stored = storage.records.get(storage.channel, &part_record(id)).await?;
        Ok(stored.and_then(|known| serde_json::from_str(&known).ok()))
    }

    /// Returns the last act of the sender of a message in its chat, if it is not long ago.
    pub(super) async fn last_of(&self, storage: Storage<'_>, arrival: &Arrival) -> Result<Option<BegunAct>> {
        let found = self.lock().iter().rev().find(|begun| begun.act.is_by(arrival)).cloned();
        if found.is_some() {
            return Ok(found);
        }
        let stored = storage.records.get(storage.channel, &last_record(arrival)).await?;
        Ok(stored.and_then(|begun| serde_json::from_str(&begun).ok()))
    }

    /// Returns the act that contains a message, if it is not long ago.
    pub(super) async fn with_part(
        &self,
        storage: Storage<'_>,
        arrival: &Arrival,
        id: &str,
    ) -> Result<Option<BegunAct>> {
        let found = self.lock().iter().rev().find(|begun| begun.act.contains(id)).cloned();
        match found {
            Some(found) => Ok(Some(found)),
            None => Ok(self.last_of(storage, arrival).await?.filter(|begun| begun.act.contains(id))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<BegunAct>> {
        // Every statement leaves the list consistent, so a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records that something of a turn's reply is being shown.
pub(super) async fn note_shown(outlet: &RateLimitedSender, turn: &TurnId) -> Result<()> {
    let until = Some(outlet.services.clock.now() + LAST_FOR);
    outlet.services.records.put(outlet.channel(), &shown_record(turn), "", until).await
}

/// Returns whether something of a turn's reply was shown. Known for as long as the last acts are.
pub(super) async fn was_shown(outlet: &RateLimitedSender, turn: &TurnId) -> Result<bool> {
    let records = &outlet.services.records;
    let is_delivered = records.get(outlet.channel(), &shown_record(turn)).await?.is_some();
    Ok(is_delivered || records.get(outlet.channel(), &record_of(turn)).await?.is_some())
}

/// Returns whether a turn is that of someone's last act in a chat, and nothing of its reply was shown.
pub(super) async fn is_recent(outlet: &RateLimitedSender, chat: &str, turn: &TurnId) -> Result<bool> {
    let last = outlet.services.records.list(outlet.channel(), &format!("{LAST}{chat} "), MAX_COUNT).await?;
    let mut acts = last.iter().filter_map(|(_, begun)| serde_json::from_str::<BegunAct>(begun).ok());
    Ok(acts.any(|begun| begun.turn == *turn) && !was_shown(outlet, turn).await?)
}

fn shown_record(turn: &TurnId) -> String {
    format!("shown:{turn}")
}

fn part_record(id: &str) -> String {
    format!("part:{id}")
}

fn last_record(arrival: &Arrival) -> String {
    format!("{LAST}{} {}", arrival.chat, arrival.sender.id)
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()))
}
