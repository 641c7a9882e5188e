//! Tracks which messages each recorded conversation has, so that a snapshot contains only what is new.
//!
//! The storage is authoritative. It names the newest message before each turn; if that is not the newest one known here
//! (another program has written, a delivery was added, something was dropped), the tracker has fallen behind. The next
//! snapshot is then built from the storage, read backwards until a known message. Messages are only ever added at the
//! end, and an edit or a retry removes everything from some message on, so everything before a message that still
//! exists is unchanged. A mistake here costs time but never makes a recording wrong.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::Message;
use aethon_core::weight::{self, Weight as _};

/// Maximum number of unfinished turns whose session is remembered; beyond it, all are forgotten.
const MAX_WAITING: usize = 100_000;

/// The known conversations.
#[derive(Debug, Default)]
pub(crate) struct Tracker(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    sessions: HashMap<SessionId, Conversation>,
    /// Session of each turn that has not ended.
    turns: HashMap<TurnId, SessionId>,
}

#[derive(Debug, Default)]
struct Conversation {
    messages: Vec<(MessageId, Option<TurnId>)>,
    /// Number of messages in the last snapshot.
    base: usize,
    /// How many of them are kept.
    keeps: usize,
    /// The messages that follow them.
    new: Vec<Message>,
    /// The running turn.
    running: Option<TurnId>,
    /// Whether something was stored unseen. Then only a prefix of the known messages is right.
    is_behind: bool,
}

/// The content of a snapshot.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) base: usize,
    pub(crate) keeps: usize,
    pub(crate) messages: Vec<Message>,
}

impl Conversation {
    fn newest(&self) -> Option<MessageId> {
        self.messages.last().map(|(id, _)| *id)
    }

    fn push(&mut self, message: Message) {
        self.messages.push((message.id, message.turn.clone()));
        self.new.push(message);
    }

    /// Removes a turn and everything after it. Returns `false` if it is not there.
    fn cut(&mut self, turn: &TurnId) -> bool {
        let at = self.messages.iter().position(|(_, of)| of.as_ref() == Some(turn));
        at.inspect(|at| self.truncate(*at)).is_some()
    }

    /// Keeps only the first `len` messages.
    fn truncate(&mut self, len: usize) {
        self.messages.truncate(len);
        self.new.truncate(len.saturating_sub(self.keeps));
        self.keeps = self.keeps.min(len);
    }

    /// Returns the position of a message.
    fn position_of(&self, message: &Message) -> Option<usize> {
        self.messages.binary_search_by_key(&message.id, |(id, _)| *id).ok()
    }

    fn fall_behind(&mut self) {
        (self.is_behind, self.running) = (true, None);
    }
}

impl Tracker {
    /// Notes that a turn was accepted.
    pub(crate) fn accepted(&self, turn: &TurnId, session: &SessionId) {
        let mut known = self.known();
        if known.turns.len() >= MAX_WAITING {
            known.turns.clear();
        }
        known.turns.insert(turn.clone(), session.clone());
    }

    /// Returns the session of a turn, if known.
    pub(crate) fn session_of(&self, turn: &TurnId) -> Option<SessionId> {
        self.known().turns.get(turn).cloned()
    }

    /// Notes that a turn began with this stored message, which follows `after`. If `after` is `None`, `is_first` tells
    /// whether the session was empty before.
    pub(crate) fn began(
        &self,
        session: &SessionId,
        message: Message,
        (after, replaces): (Option<MessageId>, Option<&TurnId>),
        is_first: bool,
    ) {
        let mut known = self.known();
        if is_first && after.is_none() {
            known.sessions.insert(session.clone(), Conversation::default());
        }
        let Some(conversation) = known.sessions.get_mut(session) else { return };
        let is_current =
            !conversation.is_behind && conversation.newest() == after && (after.is_some() || is_first);
        if is_current && replaces.is_none_or(|replaced| conversation.cut(replaced)) {
            conversation.running.clone_from(&message.turn);
            conversation.push(message);
        } else {
            conversation.fall_behind();
        }
    }

    /// Notes that a turn added these stored messages.
    pub(crate) fn grew(&self, turn: &TurnId, messages: Vec<Message>) {
        let mut known = self.known();
        let Some(session) = known.turns.get(turn).cloned() else { return };
        let Some(conversation) = known.sessions.get_mut(&session) else { return };
        let is_current = conversation.running.as_ref() == Some(turn)
            && messages.first().is_none_or(|first| conversation.newest() < Some(first.id));
        if is_current {
            messages.into_iter().for_each(|message| conversation.push(message));
        } else {
            conversation.fall_behind();
        }
    }

    /// Notes a message posted outside the turns.
    pub(crate) fn posted(&self, session: &SessionId, message: Message) {
        let mut known = self.known();
        match known.sessions.get_mut(session) {
            Some(conversation) if !conversation.is_behind && conversation.newest() < Some(message.id) => {
                conversation.push(message);
            }
            Some(conversation) => conversation.fall_behind(),
            None => {}
        }
    }

    /// Notes that a turn ended with these stored messages. Returns what is new since the last snapshot; `None` if that
    /// is not known and [`Self::catch_up`] is needed.
    pub(crate) fn ended(
        &self,
        session: &SessionId,
        turn: &TurnId,
        messages: Vec<Message>,
    ) -> Option<Difference> {
        self.grew(turn, messages);
        let mut known = self.known();
        known.turns.remove(turn);
        let conversation = known.sessions.get_mut(session)?;
        if conversation.running.take().as_ref() != Some(turn) {
            conversation.fall_behind();
            return None;
        }
        Some(conversation.difference())
    }

    /// Takes over the newest messages of the transcript up to the end of a turn, oldest first. Messages after that turn
    /// belong to the next one, which reports them itself. With `is_all` there are no older messages that count.
    /// Otherwise they must reach back to a known message; if they do not, nothing changes and the caller has to read
    /// more.
    pub(crate) fn catch_up(
        &self,
        session: &SessionId,
        newest: &mut Vec<Message>,
        is_all: bool,
    ) -> Option<Difference> {
        let mut known = self.known();
        let position_of = |message| known.sessions.get(session)?.position_of(message);
        let meeting =
            newest.iter().enumerate().rev().find_map(|(at, message)| Some((at, position_of(message)?)));
        if meeting.is_none() && !is_all {
            return None;
        }
        let conversation = match meeting {
            Some((_, position)) => {
                let conversation = known.sessions.get_mut(session)?;
                conversation.truncate(position + 1);
                conversation
            }
            None => known.sessions.entry(session.clone()).insert_entry(Conversation::default()).into_mut(),
        };
        let unknown = meeting.map_or(0, |(at, _)| at + 1);
        newest.drain(..).skip(unknown).for_each(|message| conversation.push(message));
        (conversation.is_behind, conversation.running) = (false, None);
        Some(conversation.difference())
    }

    /// Notes that a turn ended with foreign messages among its own: what is known is right only up to that turn.
    pub(crate) fn interleaved(&self, session: &SessionId, turn: &TurnId) {
        let mut known = self.known();
        known.turns.remove(turn);
        if let Some(conversation) = known.sessions.get_mut(session) {
            conversation.cut(turn);
            conversation.fall_behind();
        }
    }

    /// Notes that something was stored unseen.
    pub(crate) fn fall_behind(&self, session: &SessionId) {
        if let Some(conversation) = self.known().sessions.get_mut(session) {
            conversation.fall_behind();
        }
    }

    /// Returns the bytes that the known conversations take: the numbers of their messages, and the messages that no
    /// snapshot has yet.
    pub(crate) fn bytes(&self) -> usize {
        let known = self.known();
        let conversations = known.sessions.values().map(|conversation| {
            let numbers = weight::list::<(MessageId, Option<TurnId>)>(conversation.messages.capacity());
            size_of::<(SessionId, Conversation)>() + numbers + conversation.new.heap()
        });
        conversations.sum::<usize>() + known.turns.len() * size_of::<(TurnId, SessionId)>()
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.known().sessions.remove(session);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversation {
    fn difference(&mut self) -> Difference {
        let (base, keeps, messages) = (self.base, self.keeps, std::mem::take(&mut self.new));
        self.base = self.messages.len();
        self.keeps = self.base;
        Difference { base, keeps, messages }
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::message::{Block, Role};
    use jiff::Timestamp;

    use super::*;

    fn message(id: i64, turn: &str) -> Message {
        let mut message = Message::new(Role::User, vec![Block::text("x")], Timestamp::default());
        (message.id, message.turn) = (MessageId(id), Some(TurnId::existing(turn)));
        message
    }

    fn ids(difference: Option<Difference>) -> Option<(usize, usize, Vec<i64>)> {
        difference.map(|d| (d.base, d.keeps, d.messages.iter().map(|message| message.id.0).collect()))
    }

    #[test]
    fn a_snapshot_has_what_is_new_and_a_retry_takes_back() {
        let (tracker, session) = (Tracker::default(), SessionId::of("webchat", "a").unwrap());
        let turn = TurnId::existing;
        let began = |id: i64, of: &str, after: Option<i64>, replaces: Option<&str>| {
            tracker.accepted(&turn(of), &session);
            let replaces = replaces.map(turn);
            tracker.began(&session, message(id, of), (after.map(MessageId), replaces.as_ref()), true);
        };
        let ended = |id: i64, of: &str| ids(tracker.ended(&session, &turn(of), vec![message(id, of)]));
        began(1, "a", None, None);
        tracker.grew(&turn("a"), vec![message(2, "a"), message(3, "a")]);
        assert_eq!(ended(4, "a"), Some((0, 0, vec![1, 2, 3, 4])));
        began(5, "b", Some(4), None);
        tracker.posted(&session, message(6, "other"));
        assert_eq!(ended(7, "b"), Some((4, 4, vec![5, 6, 7])));
        began(8, "c", Some(7), Some("b"));
        assert_eq!(ended(9, "c"), Some((7, 4, vec![8, 9])));
        began(10, "d", Some(9), Some("a"));
        assert_eq!(ended(11, "d"), Some((6, 0, vec![10, 11])));
    }

    #[test]
    fn what_was_not_seen_is_read_back_to_what_is_known() {
        let (tracker, session) = (Tracker::default(), SessionId::of("webchat", "a").unwrap());
        let turn = TurnId::existing;
        // A conversation that existed before.
        tracker.accepted(&turn("b"), &session);
        tracker.began(&session, message(5, "b"), (Some(MessageId(4)), None), true);
        assert_eq!(tracker.ended(&session, &turn("b"), vec![message(6, "b")]), None);
        let caught_up = |newest: std::ops::RangeInclusive<i64>, is_all| {
            let mut newest = newest.map(|id| message(id, "b")).collect();
            ids(tracker.catch_up(&session, &mut newest, is_all))
        };
        assert_eq!(caught_up(4..=6, false), None, "there may be more before it");
        assert_eq!(caught_up(1..=6, true), Some((0, 0, (1..=6).collect())));
        // From here on it is known, except for what another program wrote in between.
        tracker.accepted(&turn("c"), &session);
        tracker.began(&session, message(7, "c"), (Some(MessageId(6)), None), true);
        assert_eq!(ids(tracker.ended(&session, &turn("c"), vec![message(8, "c")])), Some((6, 6, vec![7, 8])));
        tracker.accepted(&turn("e"), &session);
        tracker.began(&session, message(11, "e"), (Some(MessageId(10)), None), true);
        tracker.posted(&session, message(12, "e"));
        assert_eq!(tracker.ended(&session, &turn("e"), vec![message(13, "e")]), None);
        assert_eq!(caught_up(10..=13, false), None, "what is between 8 and 10 has to be read too");
        assert_eq!(caught_up(7..=13, false), Some((8, 8, (9..=13).collect())));
        // Another program removed 7 and everything after it; this one heard of 14 before.
        tracker.posted(&session, message(14, "e"));
        tracker.accepted(&turn("f"), &session);
        tracker.began(&session, message(16, "f"), (Some(MessageId(15)), None), true);
        let mut newest: Vec<Message> = [5, 6, 15, 16, 17].map(|id| message(id, "f")).into();
        assert_eq!(
            ids(tracker.catch_up(&session, &mut newest, false)),
            Some((13, 6, vec![15, 16, 17])),
            "14 was never in a snapshot"
        );
        // A turn of a known conversation whose beginning nobody saw.
        assert_eq!(tracker.ended(&session, &turn("left-over"), vec![message(18, "left-over")]), None);
    }
}
