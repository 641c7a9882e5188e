//! The files of a session as they were found, and which act on them was the last.

use aethon_core::file_changes::PutBackOutcome;
use aethon_core::ids::TurnId;

use crate::changes::{Earlier, Record, Step};

/// The file of some records, as it was found.
pub(super) struct Surveyed<'r> {
    /// As tools show it.
    pub(super) shown: String,
    /// The records, oldest first.
    pub(super) records: Vec<&'r Record>,
    /// What each of them means.
    pub(super) steps: Vec<Step>,
}

impl<'r> Surveyed<'r> {
    /// The record of an act that put the file back.
    pub(super) fn of_act(&self, act: &TurnId) -> Option<&'r Record> {
        self.records.iter().copied().find(|record| record.is_put_back() && record.head.turn == *act)
    }

    /// Why what this record says cannot be undone; `None` if it can.
    pub(super) fn why_not_again(&self, record: &Record) -> Option<PutBackOutcome> {
        // Whatever came after it must be taken back first.
        let last = self.records.iter().zip(&self.steps).rev().find(|(_, step)| step.is_there());
        match last {
            Some((last, Step::PutBack)) if last.name == record.name => {
                (record.head.earlier == Earlier::NotKept).then_some(PutBackOutcome::NotKept)
            }
            _ => Some(PutBackOutcome::ChangedSince),
        }
    }
}

/// The newest act that put files back and was not undone.
pub(super) fn last_act<'s>(surveyed: &'s [Surveyed<'_>]) -> Option<&'s TurnId> {
    let all = surveyed.iter().flat_map(|file| file.records.iter().zip(&file.steps));
    let acts = all.filter(|(record, step)| record.is_put_back() && step.is_there());
    acts.map(|(record, _)| &record.head.turn).max()
}
