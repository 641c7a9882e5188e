//! What a terminal has told of a session, so that every turn is told once, in the order of the conversation, and none is left
//! out.
//!
//! A turn of somebody else becomes known by the frame of its end, or by the transcript, and either may be first. Up to some
//! message everything has been told; behind it each turn is remembered by its id. That message moves only over what was read
//! in one piece, so that what comes to be known late is not behind it.

use std::collections::VecDeque;

use super::event::{OthersTurn, Outcome};
use super::transcript::{Transcript, Turn};

/// How many turns are remembered as told: more than are in the messages that are read back.
const REMEMBERED: usize = 1024;

/// What was told.
#[derive(Default)]
pub(super) struct ToldTurns {
    /// Whatever ended up to this message was there before the terminal, or was told.
    through: u64,
    turns: VecDeque<String>,
    /// Turns of others of whose end a frame has told, and that are to be looked up.
    waiting: VecDeque<Outcome>,
}

/// What is to be told now.
pub(super) struct Untold {
    /// The turns of others, oldest first.
    pub(super) others: Vec<OthersTurn>,
    /// Whether there is more before them that was not read.
    pub(super) is_cut: bool,
}

impl ToldTurns {
    /// Begins with a session whose newest message has this number.
    pub(super) fn begin(&mut self, newest: u64) {
        self.through = newest;
    }

    /// Forgets what was to be looked up.
    pub(super) fn leave(&mut self) {
        self.waiting.clear();
    }

    /// Up to which message everything was told.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Whether the end of this turn was told.
    pub(super) fn has(&self, turn: &str) -> bool {
        self.turns.iter().any(|told| told == turn)
    }

    /// Notes that the end of a turn is told.
    pub(super) fn note(&mut self, turn: &str) {
        self.turns.push_back(turn.to_owned());
        if self.turns.len() > REMEMBERED {
            self.turns.pop_front();
        }
    }

    /// A turn of somebody else is over, and what it answers is to be looked up.
    pub(super) fn wait(&mut self, outcome: Outcome) {
        self.waiting.push_back(outcome);
    }

    /// The first turn that is to be looked up.
    pub(super) fn waiting(&mut self) -> Option<Outcome> {
        while self.waiting.front().is_some_and(|outcome| self.has(&outcome.turn)) {
            self.waiting.pop_front();
        }
        self.waiting.front().cloned()
    }

    /// The turn that was to be looked up, was.
    pub(super) fn looked_up(&mut self) {
        self.waiting.pop_front();
    }

    /// What others have said up to this turn, or in all of it; the terminal's own turns are those of `is_own`. All of it counts
    /// as told.
    pub(super) fn take_untold(
        &mut self,
        transcript: &Transcript,
        last: Option<&Turn>,
        is_own: impl Fn(&str) -> bool,
    ) -> Untold {
        let through = last.map_or(transcript.newest, |turn| turn.last);
        let is_new = |turn: &&Turn| turn.last > self.through && turn.last <= through && turn.is_over;
        let untold = transcript.turns.iter().filter(is_new);
        let untold: Vec<&Turn> = untold.filter(|turn| !self.has(turn.id()) && !is_own(turn.id())).collect();
        let is_first = |turn: &Turn| transcript.turns.first().is_some_and(|first| first.id() == turn.id());
        // Behind a turn that was told in its time nothing is missing.
        let is_cut = !transcript.reaches(self.through) && untold.first().is_some_and(|turn| is_first(turn));
        let others: Vec<OthersTurn> = untold.into_iter().map(|turn| turn.other.clone()).collect();
        for other in &others {
            self.note(&other.outcome.turn);
        }
        self.through = self.through.max(through);
        Untold { others, is_cut }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Turns of two messages, one after the other; the message of one that is not over stands alone.
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

    fn ids(untold: &Untold) -> Vec<&str> {
        untold.others.iter().map(|other| other.outcome.turn.as_str()).collect()
    }

    #[test]
    fn what_comes_to_be_known_late_is_told_once_and_in_its_place() {
        let mut told = ToldTurns::default();
        told.begin(2);
        told.note("own");
        // Of "guest" no frame has told.
        let stored = transcript(
            &[("before", true), ("guest", true), ("own", true), ("page", true), ("new", true)],
            1,
            false,
        );
        let page = &stored.turns[3];
        let untold = told.take_untold(&stored, Some(page), |_| false);
        assert_eq!((ids(&untold), untold.is_cut), (vec!["guest", "page"], false));
        assert!(told.take_untold(&stored, Some(page), |_| false).others.is_empty());
        let rest = told.take_untold(&stored, None, |turn| turn == "new");
        assert!(rest.others.is_empty(), "its own is told by whoever follows it");
        assert_eq!(told.through(), 10);
    }

    #[test]
    fn a_turn_that_runs_while_the_transcript_is_read_is_told_when_it_ends() {
        let mut told = ToldTurns::default();
        let stored = transcript(&[("one", true), ("two", false)], 1, false);
        assert_eq!(ids(&told.take_untold(&stored, None, |_| false)), ["one"]);
        let stored = transcript(&[("one", true), ("two", true)], 1, false);
        assert_eq!(ids(&told.take_untold(&stored, None, |_| false)), ["two"]);
    }

    #[test]
    fn more_than_was_read_is_noticed() {
        let mut told = ToldTurns::default();
        told.begin(2);
        let far = transcript(&[("c", true), ("d", true)], 7, true);
        let untold = told.take_untold(&far, None, |_| false);
        assert_eq!((ids(&untold), untold.is_cut), (vec!["c", "d"], true));
        let mut told = ToldTurns::default();
        told.begin(2);
        told.note("c");
        assert!(!told.take_untold(&far, None, |_| false).is_cut, "what is before was told with it");
        let mut told = ToldTurns::default();
        told.begin(6);
        assert!(!told.take_untold(&far, None, |_| false).is_cut, "nothing is between");
    }

    #[test]
    fn what_waits_and_was_told_meanwhile_is_not_looked_up() {
        let mut told = ToldTurns::default();
        for turn in ["one", "two"] {
            told.wait(Outcome { turn: turn.into(), ..Outcome::default() });
        }
        told.note("one");
        assert_eq!(told.waiting().unwrap().turn, "two");
        told.looked_up();
        assert_eq!(told.waiting(), None);
    }
}
