//! Tracks, per turn, claims of success and the evidence for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::ids::{SessionId, TurnId};

/// Maximum number of turns and sessions remembered: more than run at once.
const MAX_COUNT: usize = 4096;

/// Phrases by which an answer claims that something works.
const CLAIMS: [&str; 14] = [
    "works now",
    "is fixed",
    "it works",
    "fixed the",
    "tests pass",
    "all pass",
    "builds again",
    "is working",
    "successfully",
    "is done",
    "is complete",
    "implemented",
    "resolved",
    "ready to use",
];

/// Turns with edits, and whether something was run since the last edit.
#[derive(Default)]
pub(super) struct Claims {
    turns: Mutex<TurnClaims>,
}

#[derive(Default)]
struct TurnClaims {
    /// Whether any command succeeded since the last edit of the turn.
    is_proven: BTreeMap<TurnId, bool>,
    /// Sessions whose last answer made an unproven claim.
    unproven: BTreeSet<SessionId>,
}

impl Claims {
    /// Notes that a file was edited.
    pub(super) fn edited(&self, turn: &TurnId) {
        let mut noted = self.lock();
        noted.is_proven.insert(turn.clone(), false);
        while noted.is_proven.len() > MAX_COUNT {
            noted.is_proven.pop_first();
        }
    }

    /// Notes that something was run successfully.
    pub(super) fn proven(&self, turn: &TurnId) {
        if let Some(is_proven) = self.lock().is_proven.get_mut(turn) {
            *is_proven = true;
        }
    }

    /// Returns whether an answer of the turn makes an unproven claim.
    pub(super) fn is_empty_claim(&self, turn: &TurnId, answer: &str) -> bool {
        self.lock().is_proven.get(turn) == Some(&false) && claims_success(answer)
    }

    /// Ends a turn. An unproven claim is remembered for the next turn of the session.
    pub(super) fn over(&self, session: &SessionId, turn: &TurnId, answer: &str) {
        let is_empty = self.is_empty_claim(turn, answer);
        let mut noted = self.lock();
        noted.is_proven.remove(turn);
        if is_empty && noted.unproven.len() < MAX_COUNT {
            noted.unproven.insert(session.clone());
        }
    }

    /// Returns, once, whether the last answer of a session made an unproven claim.
    pub(super) fn take(&self, session: &SessionId) -> bool {
        self.lock().unproven.remove(session)
    }

    fn lock(&self) -> MutexGuard<'_, TurnClaims> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn claims_success(answer: &str) -> bool {
    let answer = answer.to_lowercase();
    CLAIMS.iter().any(|claim| answer.contains(claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_after_an_edit_without_evidence_are_empty() {
        let (claims, turn) = (Claims::default(), TurnId::existing("t"));
        let session = SessionId::of("webchat", "a").unwrap();
        assert!(!claims.is_empty_claim(&turn, "It works now."), "nothing was edited");
        claims.edited(&turn);
        assert!(
            claims.is_empty_claim(&turn, "The parser is FIXED.")
                && !claims.is_empty_claim(&turn, "I changed it.")
        );
        claims.proven(&turn);
        assert!(!claims.is_empty_claim(&turn, "It works now."));
        claims.edited(&turn);
        claims.over(&session, &turn, "It works now.");
        assert!(claims.take(&session) && !claims.take(&session));
    }
}
