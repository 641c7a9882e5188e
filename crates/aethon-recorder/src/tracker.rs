//! Tracks which messages the last snapshot of each conversation has, so that the next one contains only new ones.
//!
//! The storage is authoritative: at the end of a turn its transcript is read backwards, until a message that the last snapshot
//! has. Messages are only ever added at the end, and an edit or a retry removes everything from some message on, so everything
//! before a message that still exists is unchanged. What another program stored is read like the rest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::Message;
use aethon_core::weight;

/// Maximum number of unfinished turns whose session is remembered; beyond it, all are forgotten.
const MAX_WAITING: usize = 100_000;

/// The known conversations.
#[derive(Debug, Default)]
pub(crate) struct Tracker(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The messages in the last snapshot of each session.
    sessions: HashMap<SessionId, Vec<MessageId>>,
    /// Session of each turn that has not ended.
    turns: HashMap<TurnId, SessionId>,
}

/// The content of a snapshot, as a difference to the previous one.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// Number of messages in the previous snapshot.
    pub(crate) base: usize,
    /// How many of them are kept.
    pub(crate) keeps: usize,
    /// The messages that follow them.
    pub(crate) messages: Vec<Message>,
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

    /// Notes that a turn ended.
    pub(crate) fn ended(&self, turn: &TurnId) {
        self.known().turns.remove(turn);
    }

    /// Returns the session of a turn, if known.
    pub(crate) fn session_of(&self, turn: &TurnId) -> Option<SessionId> {
        self.known().turns.get(turn).cloned()
    }

    /// Returns whether the last snapshot has any of these messages.
    pub(crate) fn knows_any(&self, session: &SessionId, messages: &[Message]) -> bool {
        let known = self.known();
        known.sessions.get(session).is_some_and(|ids| last_known(ids, messages).is_some())
    }

    /// Makes a snapshot of the newest messages of a conversation, oldest first. They reach back to a message of the last
    /// snapshot, or else to the beginning of the recording.
    pub(crate) fn advance(&self, session: &SessionId, mut newest: Vec<Message>) -> Difference {
        let mut known = self.known();
        let ids = known.sessions.entry(session.clone()).or_default();
        let base = ids.len();
        let keeps = match last_known(ids, &newest) {
            Some(Meeting { in_messages, in_snapshot }) => {
                newest.drain(..=in_messages);
                in_snapshot + 1
            }
            None => 0,
        };
        ids.truncate(keeps);
        ids.extend(newest.iter().map(|message| message.id));
        Difference { base, keeps, messages: newest }
    }

    /// Returns the bytes that the known conversations take.
    pub(crate) fn bytes(&self) -> usize {
        let known = self.known();
        let conversations = known
            .sessions
            .values()
            .map(|ids| size_of::<(SessionId, Vec<MessageId>)>() + weight::list::<MessageId>(ids.capacity()));
        conversations.sum::<usize>() + known.turns.len() * size_of::<(TurnId, SessionId)>()
    }

    /// Forgets a session, so that its next snapshot is complete.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.known().sessions.remove(session);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The positions of the same message in two lists.
struct Meeting {
    in_messages: usize,
    in_snapshot: usize,
}

/// Finds the last of these messages that a snapshot has.
fn last_known(ids: &[MessageId], messages: &[Message]) -> Option<Meeting> {
    messages.iter().enumerate().rev().find_map(|(in_messages, message)| {
        // Ids grow along a transcript.
        let in_snapshot = ids.binary_search(&message.id).ok()?;
        Some(Meeting { in_messages, in_snapshot })
    })
}

#[cfg(test)]
mod tests {
    use aethon_core::message::{Block, Role};
    use jiff::Timestamp;

    use super::*;

    fn messages(ids: impl IntoIterator<Item = i64>) -> Vec<Message> {
        let message = |id| {
            let mut message = Message::new(Role::User, vec![Block::text("x")], Timestamp::default());
            message.id = MessageId(id);
            message
        };
        ids.into_iter().map(message).collect()
    }

    #[test]
    fn a_snapshot_has_the_messages_that_the_last_one_lacks() {
        let (tracker, session) = (Tracker::default(), SessionId::of("webchat", "a").unwrap());
        let check = |newest: &[i64], base: usize, keeps: usize, new: &[i64]| {
            let difference = tracker.advance(&session, messages(newest.iter().copied()));
            let expected = Difference { base, keeps, messages: messages(new.iter().copied()) };
            assert_eq!(difference, expected);
        };
        assert!(!tracker.knows_any(&session, &messages([1])));
        check(&[1, 2, 3, 4], 0, 0, &[1, 2, 3, 4]);
        assert!(
            !tracker.knows_any(&session, &messages([5, 6])) && tracker.knows_any(&session, &messages([4, 5]))
        );
        check(&[3, 4, 5, 7], 4, 4, &[5, 7]);
        // A retry removed 5 and 7; another program added 8 and removed it again.
        check(&[4, 9, 10], 6, 4, &[9, 10]);
        // Everything was replaced.
        check(&[11], 6, 0, &[11]);
        tracker.forget(&session);
        check(&[11, 12], 0, 0, &[11, 12]);
    }
}
