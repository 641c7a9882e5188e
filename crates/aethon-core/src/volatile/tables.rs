//! The data of the in-memory storage, and the steps from which its methods are built.
//!
//! A step that fails has changed nothing, because each one checks before it writes. What a caller has written before a
//! step that may fail, it undoes itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::rows::{JobTables, MemoryRow, NotedTables, Value, WorkTables};
use crate::channel::{DELIVERY_RECORDS, Delivery, NewDelivery};
use crate::error::{Error, Result};
use crate::history::TurnVersions;
use crate::ids::{MessageId, SessionId, TurnId};
use crate::message::{Block, Inbound, Message, Reply, TurnEnd};
use crate::model::Usage;
use crate::owner::LEASE;
use crate::session::{Begin, Begun, SessionSettings, TurnDefaults, TurnPhase, TurnRecord, title_of};

/// How long the dedupe id of a removed turn is remembered, if it was meant to be valid for ever.
const SHELL: SignedDuration = SignedDuration::from_hours(24);

/// Everything that is stored.
#[derive(Default)]
pub(super) struct Tables {
    last_number: i64,
    last_message: i64,
    last_owner: u64,
    /// Until when each owner counts as alive.
    pub(super) owners: BTreeMap<u64, Timestamp>,
    pub(super) sessions: BTreeMap<SessionId, SessionRow>,
    pub(super) bin: Vec<BinRow>,
    pub(super) turns: BTreeMap<TurnId, TurnRow>,
    pub(super) posted: BTreeSet<(SessionId, String)>,
    pub(super) deliveries: Vec<DeliveryRow>,
    pub(super) channel_records: BTreeMap<(String, String), Value>,
    pub(super) noted: NotedTables,
    pub(super) memories: Vec<MemoryRow>,
    pub(super) last_memory: i64,
    pub(super) jobs: JobTables,
    pub(super) work: WorkTables,
}

/// A session with its live branch.
#[derive(Clone)]
pub(super) struct SessionRow {
    /// Numbers grow, so they distinguish sessions of the same moment.
    pub(super) number: i64,
    pub(super) title: String,
    pub(super) is_title_given: bool,
    pub(super) settings: SessionSettings,
    pub(super) sender: String,
    pub(super) is_oneshot: bool,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) messages: Vec<Message>,
    pub(super) versions: Versions,
    /// The last message that a person has seen.
    pub(super) read_through: MessageId,
}

/// A session in the bin, with its turns.
pub(super) struct BinRow {
    pub(super) place: i64,
    pub(super) id: SessionId,
    pub(super) deleted_at: Timestamp,
    pub(super) session: SessionRow,
    pub(super) turns: Vec<TurnRow>,
}

/// What retries and edits have put aside in a session.
#[derive(Clone, Default)]
pub(super) struct Versions {
    /// The branches that are not live, by their first messages.
    pub(super) aside: BTreeMap<MessageId, Vec<Message>>,
    /// The turns that take each other's place, oldest first.
    pub(super) families: Vec<Vec<TurnId>>,
}

/// A turn, or what is left of one whose session was removed.
#[derive(Clone)]
pub(super) struct TurnRow {
    pub(super) number: i64,
    pub(super) record: TurnRecord,
    pub(super) owner: Option<u64>,
    pub(super) first_message: Option<MessageId>,
    /// Messages of a turn that ended before it began, until older turns have ended.
    pub(super) held: Vec<Message>,
    /// Until when its dedupe id is valid; `None` for ever.
    pub(super) known_until: Option<Timestamp>,
    /// Whether only its dedupe id is left.
    pub(super) is_shell: bool,
}

impl TurnRow {
    /// Returns the turn, if it belongs to this owner.
    pub(super) fn of(&self, owner: u64) -> Result<&Self> {
        if self.owner == Some(owner) { Ok(self) } else { Err(taken_over(&self.record.turn)) }
    }
}

/// A delivery with its state.
#[derive(Clone)]
pub(super) struct DeliveryRow {
    pub(super) delivery: Delivery,
    /// When it is due; `None` once it is settled.
    pub(super) due_at: Option<Timestamp>,
    pub(super) settled_at: Option<Timestamp>,
    pub(super) created_at: Timestamp,
    pub(super) is_delivered: bool,
    /// The last error.
    pub(super) error: Option<String>,
}

impl DeliveryRow {
    /// A delivery that is due now.
    pub(super) fn new(delivery: Delivery, now: Timestamp) -> Self {
        Self {
            delivery,
            due_at: Some(now),
            settled_at: None,
            created_at: now,
            is_delivered: false,
            error: None,
        }
    }
}

fn is_to_same(row: &DeliveryRow, content: &NewDelivery) -> bool {
    let of = &row.delivery.content;
    content.recipient.is_some() && of.channel == content.channel && of.recipient == content.recipient
}

impl Tables {
    /// Returns the turn begun by the message with this channel and dedupe id, while the id is valid.
    pub(super) fn known(&self, channel: &str, dedupe_id: &str, now: Timestamp) -> Option<TurnRecord> {
        let is_meant = |row: &&TurnRow| {
            row.record.inbound.channel == channel
                && row.record.inbound.dedupe.as_ref().is_some_and(|dedupe| dedupe.id == dedupe_id)
                && row.known_until.is_none_or(|until| until > now)
        };
        self.turns.values().find(is_meant).map(|row| row.record.clone())
    }

    /// Returns when the last delivery to this recipient is due, if any is waiting.
    pub(super) fn last_due(&self, content: &NewDelivery) -> Option<Timestamp> {
        self.deliveries.iter().filter(|row| is_to_same(row, content)).filter_map(|row| row.due_at).max()
    }

    /// Removes what channels remember about a session's deliveries.
    pub(super) fn forget_records_of_settled(&mut self, session: &SessionId) {
        let settled =
            self.deliveries.iter().filter(|row| row.settled_at.is_some() && row.delivery.session == *session);
        for row in settled {
            let name = format!("{DELIVERY_RECORDS}{}", row.delivery.id);
            self.channel_records.remove(&(row.delivery.content.channel.clone(), name));
        }
    }

    /// Makes deliveries behind this one due no earlier than it.
    pub(super) fn hold_back(&mut self, id: i64, content: &NewDelivery, until: Timestamp) {
        let behind =
            self.deliveries.iter_mut().filter(|row| row.delivery.id > id && is_to_same(row, content));
        for row in behind {
            row.due_at = row.due_at.map(|due| due.max(until));
        }
    }

    pub(super) fn next_number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn next_owner(&mut self) -> u64 {
        self.last_owner += 1;
        self.last_owner
    }

    /// Returns what [`Self::open_session`] may change in a session, for [`Self::put_back`]; `None` if there is no such
    /// session.
    pub(super) fn head(&self, id: &SessionId) -> Option<(String, bool, Timestamp)> {
        let session = self.sessions.get(id)?;
        Some((session.sender.clone(), session.is_oneshot, session.updated_at))
    }

    /// Restores a session to what it was before it was opened.
    pub(super) fn put_back(&mut self, id: &SessionId, head: Option<(String, bool, Timestamp)>) {
        match (head, self.sessions.get_mut(id)) {
            (Some(head), Some(session)) => {
                (session.sender, session.is_oneshot, session.updated_at) = head;
            }
            _ => {
                self.sessions.remove(id);
            }
        }
    }

    /// Opens a session for writing, creating it if necessary. An unknown sender (`""`) leaves the name to whoever
    /// speaks first.
    pub(super) fn open_session(
        &mut self,
        id: &SessionId,
        (sender, is_oneshot): (&str, bool),
        now: Timestamp,
    ) -> &mut SessionRow {
        let number = self.next_number();
        let session = self.sessions.entry(id.clone()).or_insert_with(|| SessionRow {
            number,
            title: String::new(),
            is_title_given: false,
            settings: SessionSettings::default(),
            sender: String::new(),
            is_oneshot,
            created_at: now,
            updated_at: now,
            messages: Vec::new(),
            versions: Versions::default(),
            read_through: MessageId(0),
        });
        session.is_oneshot &= is_oneshot;
        if session.sender.is_empty() {
            sender.clone_into(&mut session.sender);
        }
        session.updated_at = now;
        session
    }

    /// Appends messages to the live branch.
    pub(super) fn add(
        &mut self,
        session: &SessionId,
        turn: Option<&TurnId>,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Vec<MessageId>> {
        let mut ids = Vec::new();
        for mut message in messages {
            // Messages have their own counter, because tests rely on their numbers.
            self.last_message += 1;
            message.id = MessageId(self.last_message);
            if message.turn.is_none() {
                message.turn = turn.cloned();
            }
            ids.push(message.id);
            let session = self.sessions.get_mut(session).ok_or_else(no_session)?;
            session.updated_at = now;
            if !session.is_title_given && (session.title.is_empty() || session.messages.is_empty()) {
                session.title = title_of(&message);
            }
            session.messages.push(message);
        }
        Ok(ids)
    }

    /// Returns a turn of which more than the dedupe id is left.
    pub(super) fn turn(&mut self, turn: &TurnId) -> Result<&mut TurnRow> {
        self.turns.get_mut(turn).filter(|row| !row.is_shell).ok_or_else(|| no_turn(turn))
    }

    /// Begins a turn, or counts another attempt at one that has begun.
    pub(super) fn begin(
        &mut self,
        turn: &TurnId,
        begin: Begin,
        (owner, now): (u64, Timestamp),
    ) -> Result<Begun> {
        let row = self.turn(turn)?;
        if row.record.phase == TurnPhase::Done {
            return Err(Error::invalid(format!("the turn {turn} has ended before")));
        }
        if row.owner != Some(owner) {
            return Err(Error::elsewhere(format!("another program works on the turn {turn}")));
        }
        if let Some(message) = row.first_message {
            row.record.attempts += 1;
            row.record.phase = TurnPhase::Running;
            let session = row.record.inbound.session.clone();
            return Ok(Begun { message, after: None, defaults: self.defaults(&session) });
        }
        let (session, number) = (row.record.inbound.session.clone(), row.number);
        if self.is_held(&session, owner, number) {
            return Err(Error::elsewhere(format!(
                "another program writes in {session}; it is free again soon"
            )));
        }
        let live = self.sessions.get(&session).map(|session| session.messages.as_slice());
        let after = live.and_then(<[Message]>::last).map(|message| message.id);
        if let Some(replaced) = &begin.replaces {
            self.cut(&session, replaced, turn)?;
        }
        let first =
            *self.add(&session, Some(turn), vec![begin.message], now)?.first().ok_or_else(no_session)?;
        let row = self.turn(turn)?;
        row.first_message = Some(first);
        row.record.attempts += 1;
        row.record.phase = TurnPhase::Running;
        Ok(Begun { message: first, after, defaults: self.defaults(&session) })
    }

    /// Returns what a session sets for its turns.
    fn defaults(&self, session: &SessionId) -> Option<Arc<TurnDefaults>> {
        self.sessions.get(session)?.settings.turns.clone().if_any()
    }

    /// Whether another owner has a turn in a session that goes before this one, because it has begun or was accepted
    /// earlier.
    pub(super) fn is_held(&self, session: &SessionId, owner: u64, number: i64) -> bool {
        let is_open =
            |row: &&TurnRow| row.record.phase != TurnPhase::Done && row.record.inbound.session == *session;
        let is_own = |row: &&TurnRow| row.owner == Some(owner);
        let own = self.turns.values().filter(is_open).filter(is_own).map(|row| row.number).min();
        let first = own.unwrap_or(number);
        let others = self.turns.values().filter(is_open).filter(|row| !is_own(row));
        others.into_iter().any(|row| row.record.phase == TurnPhase::Running || row.number < first)
    }

    /// Renews an owner's lease.
    pub(super) fn renew(&mut self, owner: u64, now: Timestamp) {
        let lease = SignedDuration::try_from(LEASE).unwrap_or(SignedDuration::MAX);
        self.owners.insert(owner, now.saturating_add(lease).unwrap_or(now));
    }

    /// Returns unfinished turns that do not belong to this owner and whose owner is gone, oldest first.
    pub(super) fn orphans(&self, owner: u64, now: Timestamp) -> Vec<&TurnRow> {
        let is_alive = |other| other == owner || self.owners.get(&other).is_some_and(|&until| until > now);
        let is_orphan =
            |row: &&TurnRow| row.record.phase != TurnPhase::Done && !row.owner.is_some_and(is_alive);
        let mut orphans: Vec<_> = self.turns.values().filter(is_orphan).collect();
        orphans.sort_by_key(|row| row.number);
        orphans
    }

    /// Whether messages of others were stored after the first one of a turn.
    pub(super) fn has_beside(&self, turn: &TurnId, session: &SessionId) -> bool {
        let first = self.turns.get(turn).and_then(|row| row.first_message);
        let (Some(first), Some(session)) = (first, self.sessions.get(session)) else { return false };
        let of_others = |message: &Message| {
            let is_summary = message.content.iter().any(|block| matches!(block, Block::Folded { .. }));
            message.id > first && message.turn.as_ref() != Some(turn) && !is_summary
        };
        session.messages.iter().any(of_others)
    }

    /// Appends the last messages of a turn, or holds them back if it never began and older turns are not over.
    pub(super) fn add_last(
        &mut self,
        turn: &TurnId,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Vec<MessageId>> {
        let row = self.turn(turn)?;
        let (session, number, has_begun) =
            (row.record.inbound.session.clone(), row.number, row.first_message.is_some());
        if has_begun || messages.is_empty() {
            return self.add(&session, Some(turn), messages, now);
        }
        if self.oldest_open(&session).is_some_and(|oldest| oldest < number) {
            self.turn(turn)?.held = messages;
            return Ok(Vec::new());
        }
        let ids = self.add(&session, Some(turn), messages, now)?;
        self.turn(turn)?.first_message = ids.first().copied();
        Ok(ids)
    }

    /// Stores messages that were held back, now that another turn is over.
    pub(super) fn release_held(&mut self, session: &SessionId, now: Timestamp) -> Result<()> {
        let oldest = self.oldest_open(session);
        let is_due = |row: &&TurnRow| {
            !row.held.is_empty()
                && row.record.inbound.session == *session
                && oldest.is_none_or(|oldest| row.number < oldest)
        };
        let mut due: Vec<_> =
            self.turns.values().filter(is_due).map(|row| (row.number, row.record.turn.clone())).collect();
        due.sort();
        for (_, turn) in due {
            let held = std::mem::take(&mut self.turn(&turn)?.held);
            let ids = self.add(session, Some(&turn), held, now)?;
            self.turn(&turn)?.first_message = ids.first().copied();
        }
        Ok(())
    }

    /// The number of a session's oldest turn that is not over; one that runs comes before all others, whatever its number.
    fn oldest_open(&self, session: &SessionId) -> Option<i64> {
        let rows = self.turns.values();
        let open =
            rows.filter(|row| row.record.phase != TurnPhase::Done && row.record.inbound.session == *session);
        open.map(|row| if row.record.phase == TurnPhase::Running { i64::MIN } else { row.number }).min()
    }

    /// Removes a turn and everything after it from the live branch.
    fn cut(&mut self, session: &SessionId, replaced: &TurnId, by: &TurnId) -> Result<()> {
        self.put_aside(session, replaced)?;
        let live = self.sessions.get_mut(session).ok_or_else(no_session)?;
        let families = &mut live.versions.families;
        match families.iter_mut().find(|family| family.contains(replaced)) {
            Some(family) => family.push(by.clone()),
            None => families.push(vec![replaced.clone(), by.clone()]),
        }
        Ok(())
    }

    /// Puts aside what is live from a turn on.
    fn put_aside(&mut self, session: &SessionId, turn: &TurnId) -> Result<()> {
        let first = self.turn(turn)?.first_message;
        let live = self.sessions.get_mut(session).ok_or_else(no_session)?;
        let cut = live.messages.iter().position(|message| Some(message.id) == first);
        let aside = live.messages.split_off(cut.ok_or_else(|| no_turn(turn))?);
        if let Some(head) = aside.first().map(|message| message.id) {
            live.versions.aside.insert(head, aside);
        }
        Ok(())
    }

    /// Returns the turns of the live branch that have several versions.
    pub(super) fn versions(&self, session: &SessionId) -> Vec<TurnVersions> {
        let Some(live) = self.sessions.get(session) else { return Vec::new() };
        let is_live =
            |turn: &&TurnId| live.messages.iter().any(|message| message.turn.as_ref() == Some(*turn));
        let families = live.versions.families.iter();
        let mut all: Vec<TurnVersions> = families
            .filter_map(|family| {
                Some(TurnVersions { turn: family.iter().find(is_live)?.clone(), turns: family.clone() })
            })
            .collect();
        all.sort_by_key(|versions| {
            live.messages.iter().position(|message| message.turn.as_ref() == Some(&versions.turn))
        });
        all
    }

    /// Makes the branch of a version the live one.
    pub(super) fn switch(&mut self, session: &SessionId, turn: &TurnId) -> Result<()> {
        let all = self.versions(session);
        let live = self.sessions.get(session).ok_or_else(no_session)?;
        if live.messages.iter().any(|message| message.turn.as_ref() == Some(turn)) {
            return Ok(());
        }
        let family = all.into_iter().find(|versions| versions.turns.contains(turn));
        let present = family.ok_or_else(|| no_turn(turn))?.turn;
        let is_open =
            |row: &TurnRow| row.record.phase != TurnPhase::Done && row.record.inbound.session == *session;
        if self.turns.values().any(is_open) {
            return Err(Error::full("an answer is being written in this conversation"));
        }
        let first = self.turn(turn)?.first_message;
        self.put_aside(session, &present)?;
        let live = self.sessions.get_mut(session).ok_or_else(no_session)?;
        let back = first.and_then(|first| live.versions.aside.remove(&first));
        live.messages.extend(back.ok_or_else(|| no_turn(turn))?);
        Ok(())
    }

    /// Removes a session's turns; only the ids that senders may send again are remembered.
    pub(super) fn forget_turns(&mut self, session: &SessionId, now: Timestamp) {
        let keeps = |row: &TurnRow| {
            row.record.inbound.dedupe.is_some() && row.known_until.is_none_or(|until| until > now)
        };
        self.turns.retain(|_, row| row.record.inbound.session != *session || row.is_shell || keeps(row));
        for row in
            self.turns.values_mut().filter(|row| row.record.inbound.session == *session && !row.is_shell)
        {
            row.is_shell = true;
            row.held.clear();
            row.known_until =
                Some(row.known_until.unwrap_or_else(|| now.saturating_add(SHELL).unwrap_or(now)));
            row.record.phase = TurnPhase::Done;
            row.record.inbound =
                Inbound { text: String::new(), attachments: Vec::new(), ..row.record.inbound.clone() };
            row.record.reply = Some(Reply {
                turn: row.record.turn.clone(),
                session: session.clone(),
                text: String::new(),
                end: TurnEnd::Stopped,
                model: String::new(),
                usage: Usage::default(),
                failure: None,
            });
        }
    }

    #[cfg(feature = "testkit")]
    pub(super) fn leave_behind(&mut self, record: TurnRecord, messages: Vec<Message>) {
        let (session, now) = (record.inbound.session.clone(), record.accepted_at);
        self.open_session(&session, (&record.inbound.sender, false), now);
        // The session exists.
        let ids = self.add(&session, Some(&record.turn), messages, now).unwrap_or_default();
        let number = self.next_number();
        let row = TurnRow {
            number,
            first_message: ids.first().copied(),
            held: Vec::new(),
            owner: None,
            known_until: None,
            is_shell: false,
            record,
        };
        self.turns.insert(row.record.turn.clone(), row);
    }
}

fn taken_over(turn: &TurnId) -> Error {
    Error::invalid(format!("another program has taken the turn {turn} over"))
}

pub(super) fn no_turn(turn: &TurnId) -> Error {
    Error::not_found(format!("there is no turn {:?} in this conversation", turn.as_str()))
}

fn no_session() -> Error {
    Error::not_found("there is no such conversation")
}
