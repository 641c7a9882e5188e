//! The turns of a session that a terminal has reported, so that each is reported once, in the order of the conversation,
//! and none is left out.
//!
//! A turn of another client becomes known by the frame of its end, or by the transcript, and either may be first. Up to
//! some message every turn has been reported; behind it each reported turn is remembered by its id. That message moves
//! only over messages that were read in one piece, so that it never passes a turn that becomes known late.

use std::collections::VecDeque;

use super::event::{OthersTurn, Outcome};
use super::transcript::{Transcript, Turn};

/// How many reported turns are remembered: more than are in the messages that are read back.
const REMEMBERED: usize = 1024;

/// The reported turns, and those waiting for a report.
#[derive(Default)]
pub(super) struct ShownTurns {
    /// Every turn that ended up to this message is older than the terminal, or was reported.
    through: u64,
    turns: VecDeque<String>,
    /// Turns of others whose end a frame has reported, still to be looked up in the transcript.
    waiting: VecDeque<Outcome>,
}

/// The turns to report now.
pub(super) struct UnseenTurns {
    /// The turns of others, oldest first.
    pub(super) others: Vec<OthersTurn>,
    /// Whether there is more before them that was not read.
    pub(super) is_cut: bool,
}

impl ShownTurns {
    /// Begins with a session whose newest message has this number.
    pub(super) fn begin(&mut self, newest: u64) {
        self.through = newest;
    }

    /// Forgets the turns that were to be looked up.
    pub(super) fn leave(&mut self) {
        self.waiting.clear();
    }

    /// Returns the message up to which every turn was reported.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Returns whether the end of this turn was reported.
    pub(super) fn has(&self, turn: &str) -> bool {
        self.turns.iter().any(|told| told == turn)
    }

    /// Notes that the end of a turn is reported.
    pub(super) fn note(&mut self, turn: &str) {
        self.turns.push_back(turn.to_owned());
        if self.turns.len() > REMEMBERED {
            self.turns.pop_front();
        }
    }

    /// Adds a turn of another client that is over, so that its message is looked up.
    pub(super) fn wait(&mut self, outcome: Outcome) {
        self.waiting.push_back(outcome);
    }

    /// Returns the first turn that is to be looked up.
    pub(super) fn waiting(&mut self) -> Option<Outcome> {
        while self.waiting.front().is_some_and(|outcome| self.has(&outcome.turn)) {
            self.waiting.pop_front();
        }
        self.waiting.front().cloned()
    }

    /// Removes the first of these turns, which has been looked up.
    pub(super) fn looked_up(&mut self) {
        self.waiting.pop_front();
    }

    /// Returns the unreported turns of others up to `last`, or in all of the transcript, and counts all turns up to there as
    /// reported. `is_own` recognises the terminal's own turns.
    pub(super) fn take_unseen(
        &mut self,
        transcript: &Transcript,
        last: Option<&Turn>,
        is_own: impl Fn(&str) -> bool,
    ) -> UnseenTurns {
        let through = last.map_or(transcript.newest, |turn| turn.last);
        let is_new = |turn: &&Turn| turn.last > self.through && turn.last <= through && turn.is_over;
        let untold = transcript.turns.iter().filter(is_new);
        let untold: Vec<&Turn> = untold.filter(|turn| !self.has(turn.id()) && !is_own(turn.id())).collect();
        let is_first = |turn: &Turn| transcript.turns.first().is_some_and(|first| first.id() == turn.id());
        // Behind a turn that was reported in time nothing is missing.
        let is_cut = !transcript.reaches(self.through) && untold.first().is_some_and(|turn| is_first(turn));
        let others: Vec<OthersTurn> = untold.into_iter().map(|turn| turn.other.clone()).collect();
        for other in &others {
            self.note(&other.outcome.turn);
        }
        self.through = self.through.max(through);
        UnseenTurns { others, is_cut }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns turns of two messages, one after the other; the message of one that is not over stands alone.
    fn transcript(turns: &[(&str, bool)], first: u64, has_more: bool) -> Transcript {
        let mut messages: Vec<Value> = Vec::new();
        for (turn, is_over) in turns {
            let mut add = |role: &str, end: Option<&str>| {
                let id = (first + messages.len() as u64).to_string();
                messages
                    .push(json!({"id": id, "role": role, "turn": turn, "stop_reason": end, "content": []}));
            };
            add("user", None);
            if *is_over {
                add("assistant", Some("end"));
            }
        }
        let detail = json!({"seq": 1, "pending": [], "has_more": has_more, "messages": messages});
        Transcript::of(&detail).unwrap()
    }

    fn ids(untold: &UnseenTurns) -> Vec<&str> {
        untold.others.iter().map(|other| other.outcome.turn.as_str()).collect()
    }

    #[test]
    fn a_turn_known_late_is_reported_once_and_in_its_place() {
        let mut told = ShownTurns::default();
        told.begin(2);
        told.note("own");
        // No frame has reported "guest".
        let stored = transcript(
            &[("before", true), ("guest", true), ("own", true), ("page", true), ("new", true)],
            1,
            false,
        );
        let page = &stored.turns[3];
        let untold = told.take_unseen(&stored, Some(page), |_| false);
        assert_eq!((ids(&untold), untold.is_cut), (vec!["guest", "page"], false));
        assert!(told.take_unseen(&stored, Some(page), |_| false).others.is_empty());
        let rest = told.take_unseen(&stored, None, |turn| turn == "new");
        assert!(rest.others.is_empty(), "its own is told by whoever follows it");
        assert_eq!(told.through(), 10);
    }

    #[test]
    fn a_turn_running_during_the_read_is_reported_when_it_ends() {
        let mut told = ShownTurns::default();
        let stored = transcript(&[("one", true), ("two", false)], 1, false);
        assert_eq!(ids(&told.take_unseen(&stored, None, |_| false)), ["one"]);
        let stored = transcript(&[("one", true), ("two", true)], 1, false);
        assert_eq!(ids(&told.take_unseen(&stored, None, |_| false)), ["two"]);
    }

    #[test]
    fn more_than_was_read_is_noticed() {
        let mut told = ShownTurns::default();
        told.begin(2);
        let far = transcript(&[("c", true), ("d", true)], 7, true);
        let untold = told.take_unseen(&far, None, |_| false);
        assert_eq!((ids(&untold), untold.is_cut), (vec!["c", "d"], true));
        let mut told = ShownTurns::default();
        told.begin(2);
        told.note("c");
        assert!(!told.take_unseen(&far, None, |_| false).is_cut, "what is before was told with it");
        let mut told = ShownTurns::default();
        told.begin(6);
        assert!(!told.take_unseen(&far, None, |_| false).is_cut, "nothing is between");
    }

    #[test]
    fn a_waiting_turn_reported_meanwhile_is_not_looked_up() {
        let mut told = ShownTurns::default();
        for turn in ["one", "two"] {
            told.wait(Outcome { turn: turn.into(), ..Outcome::default() });
        }
        told.note("one");
        assert_eq!(told.waiting().unwrap().turn, "two");
        told.looked_up();
        assert_eq!(told.waiting(), None);
    }
}
