//! What this instance knows of the others: who is alive, and in which sessions they are busy.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::peers::PeerId;

/// How many turns of others are known at most.
const MAX_TURNS: usize = 10_000;

/// The other instances, as far as they are known.
#[derive(Default)]
pub(super) struct Others(Mutex<Known>);

#[derive(Default)]
struct Known {
    alive: BTreeSet<PeerId>,
    turns: HashMap<TurnId, (PeerId, SessionId)>,
    /// How many of these turns a session has.
    busy: HashMap<SessionId, usize>,
    /// Those at which a page is in sight.
    in_sight: BTreeSet<PeerId>,
}

impl Known {
    fn add(&mut self, at: PeerId, session: SessionId, turn: TurnId) {
        if self.turns.len() < MAX_TURNS && self.turns.insert(turn, (at, session.clone())).is_none() {
            *self.busy.entry(session).or_default() += 1;
        }
    }

    fn remove(&mut self, turn: &TurnId) {
        let Some((_, session)) = self.turns.remove(turn) else { return };
        if let Some(count) = self.busy.get_mut(&session) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&session);
            }
        }
    }
}

impl Others {
    /// Returns whether there are others.
    pub(super) fn is_any(&self) -> bool {
        !self.lock().alive.is_empty()
    }

    /// Returns those that are alive.
    pub(super) fn alive(&self) -> BTreeSet<PeerId> {
        self.lock().alive.clone()
    }

    /// Notes that an instance lives, which has just told something.
    pub(super) fn lives(&self, peer: PeerId) {
        self.lock().alive.insert(peer);
    }

    /// Notes which instances live, and returns those that are gone.
    pub(super) fn live(&self, alive: BTreeSet<PeerId>) -> Vec<PeerId> {
        let mut known = self.lock();
        let gone = known.alive.difference(&alive).copied().collect();
        known.in_sight.retain(|peer| alive.contains(peer));
        known.alive = alive;
        gone
    }

    /// Notes whether a page is in sight at an instance.
    pub(super) fn sees(&self, at: PeerId, is_in_sight: bool) {
        let pages = &mut self.lock().in_sight;
        if is_in_sight {
            pages.insert(at);
        } else {
            pages.remove(&at);
        }
    }

    /// Returns whether a page is in sight at any other instance.
    pub(super) fn is_in_sight(&self) -> bool {
        !self.lock().in_sight.is_empty()
    }

    /// Returns those that run turns, as far as is known.
    pub(super) fn busy(&self) -> BTreeSet<PeerId> {
        self.lock().turns.values().map(|(peer, _)| *peer).collect()
    }

    /// Returns whether a turn of another instance runs in this session.
    pub(super) fn is_busy(&self, session: &SessionId) -> bool {
        self.lock().busy.contains_key(session)
    }

    /// Notes that a turn has begun.
    pub(super) fn began(&self, at: PeerId, session: SessionId, turn: TurnId) {
        self.lock().add(at, session, turn);
    }

    /// Notes that a turn is over.
    pub(super) fn ended(&self, turn: &TurnId) {
        self.lock().remove(turn);
    }

    /// Replaces the turns of an instance by these, and returns the sessions of which the state may have changed.
    pub(super) fn replace(&self, at: PeerId, turns: Vec<(SessionId, TurnId)>) -> BTreeSet<SessionId> {
        let mut known = self.lock();
        let before = known.turns.iter().filter(|(_, (peer, _))| *peer == at);
        let before: HashSet<_> = before.map(|(turn, (_, session))| (session.clone(), turn.clone())).collect();
        let now: HashSet<_> = turns.into_iter().collect();
        before.difference(&now).for_each(|(_, turn)| known.remove(turn));
        for (session, turn) in now.difference(&before) {
            known.add(at, session.clone(), turn.clone());
        }
        before.symmetric_difference(&now).map(|(session, _)| session.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_busy_while_any_turn_of_others_runs_in_it() {
        let others = Others::default();
        let session = |name: &str| SessionId::of("webchat", name).unwrap();
        let turn = TurnId::existing;
        let (one, two) = (PeerId(1), PeerId(2));
        others.began(one, session("a"), turn("a1"));
        others.began(two, session("a"), turn("a2"));
        others.began(two, session("a"), turn("a2"));
        others.ended(&turn("a1"));
        assert!(others.is_busy(&session("a")));
        others.ended(&turn("a2"));
        others.ended(&turn("a2"));
        assert!(!others.is_busy(&session("a")));
        others.began(one, session("a"), turn("a3"));
        let changed = others.replace(one, vec![(session("b"), turn("b1"))]);
        assert_eq!(changed, [session("a"), session("b")].into());
        assert!(!others.is_busy(&session("a")) && others.is_busy(&session("b")));
        others.sees(one, true);
        others.sees(two, true);
        others.sees(two, false);
        assert!(others.is_in_sight());
        assert_eq!(others.live([one, two].into()), []);
        assert_eq!(others.live([two].into()), [one]);
        assert!(!others.is_in_sight(), "its pages are gone with it");
        let same = vec![(session("b"), turn("b1"))];
        assert_eq!(others.replace(one, same), [].into(), "what is told again changes nothing");
        assert_eq!(others.replace(one, Vec::new()), [session("b")].into());
        assert!(!others.is_busy(&session("b")));
    }
}
