//! Calls that wait for a person's approval, kept where a restart finds them.
//!
//! A call without a result may or may not have run when the program was killed. One that was still waiting for an answer has
//! not, and then the model and the transcript should not leave that open. So a question is noted before it is put, and the
//! note is removed before the call may run.

use std::collections::BTreeSet;
use std::sync::Arc;

use aethon_core::approval::PendingApprovals;
use aethon_core::channel::ChannelRecords;
use aethon_core::error::{Error, Result};
use aethon_core::ids::TurnId;
use aethon_core::message::ToolCall;
use jiff::{SignedDuration, Timestamp};

use aethon_core::patience::retry_until_stored;
use aethon_core::storage_log::log_storage;

/// The owner of the records, which is no channel.
const OWNER: &str = "approvals";

/// How long a note is kept that a stopped turn left.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The largest number of open requests of a turn.
const MAX_LISTED: usize = 100;

const NOT_RUN: &str =
    "interrupted by a restart of the assistant while it waited for approval; it has not run";

/// The requests for approval that wait for a person, and the notes of them. By default no notes are kept.
#[derive(Clone, Default)]
pub struct OpenApprovals {
    /// Those that clients can answer.
    pub pending: PendingApprovals,
    notes: Option<Arc<dyn ChannelRecords>>,
}

/// The calls of a turn that waited for approval when their program ended.
#[derive(Default)]
pub(crate) struct Unanswered(BTreeSet<String>);

impl OpenApprovals {
    /// Creates the set from these pending approvals; `notes` keeps them across restarts.
    pub fn new(pending: PendingApprovals, notes: Arc<dyn ChannelRecords>) -> Self {
        Self { pending, notes: Some(notes) }
    }

    /// Notes a question, and returns whether that was done. If not, a restart says less about the call.
    pub(crate) async fn open(&self, turn: &TurnId, call: &ToolCall, now: Timestamp) -> bool {
        let Some(records) = &self.notes else { return false };
        let until = now.checked_add(KEPT).ok();
        let noted = records.put(OWNER, &name(turn, &call.id), "", until).await;
        noted.inspect_err(|error| log_storage("a question for approval could not be noted", error)).is_ok()
    }

    /// Removes the note of a question that was settled. Only then may the call run. An error if `is_noted` and the note is gone:
    /// another program has taken the turn over, and has told the model that the call did not run.
    pub(crate) async fn settle(&self, turn: &TurnId, call: &ToolCall, is_noted: bool) -> Result<()> {
        let Some(records) = self.notes.as_ref().filter(|_| is_noted) else { return Ok(()) };
        let name = name(turn, &call.id);
        let taken = retry_until_stored("an answered question could not be noted; trying again", || {
            records.take(OWNER, &name)
        });
        match taken.await? {
            Some(_) => Ok(()),
            None => Err(Error::elsewhere("another program has taken the turn over")),
        }
    }

    /// Removes and returns the notes that an earlier program left of a turn.
    pub(crate) async fn left_by(&self, turn: &TurnId) -> Unanswered {
        let Some(records) = &self.notes else { return Unanswered::default() };
        let prefix = name(turn, "");
        let taken = async {
            let mut calls = BTreeSet::new();
            for (name, _) in records.list(OWNER, &prefix, MAX_LISTED).await? {
                records.take(OWNER, &name).await?;
                calls.extend(name.strip_prefix(&prefix).map(str::to_owned));
            }
            Ok(calls)
        };
        taken.await.map_or_else(
            |error| {
                log_storage("open approvals could not be read", &error);
                Unanswered::default()
            },
            Unanswered,
        )
    }
}

impl Unanswered {
    /// Returns why a call has no result: the caller's own reason, or that the call waited.
    pub(crate) fn why(&self, call: &ToolCall, otherwise: &'static str) -> &'static str {
        if self.0.contains(&call.id) { NOT_RUN } else { otherwise }
    }
}

fn name(turn: &TurnId, call: &str) -> String {
    format!("{turn}:{call}")
}
