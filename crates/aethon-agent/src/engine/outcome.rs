//! How a turn ends, in words for the person and for the hooks.

use std::time::Duration;

use aethon_core::message::{Block, EndReason, Failure, Message, Reply, TurnEnd};
use aethon_core::model::{ModelError, Usage};

use crate::control::{Cause, Interrupt};
use crate::dispatcher::Job;
use crate::meter::in_words;

/// How a turn ends, and why.
#[derive(Debug, Clone)]
pub(super) struct TurnOutcome {
    pub(super) end: TurnEnd,
    /// The reason, with the sentence that the person reads.
    pub(super) notice: Option<(EndReason, String)>,
    pub(super) retry_after: Option<u64>,
}

/// What the person reads whose answer goes on elsewhere.
pub(super) const TAKEN_OVER: &str =
    "Another program has taken this answer over; load the conversation again to see it.";

/// The result of a part of a turn. `Err` ends the turn with this outcome, which need not be a failure.
pub(super) type OrEnd<T = ()> = std::result::Result<T, TurnOutcome>;

impl From<Interrupt> for TurnOutcome {
    fn from(interrupt: Interrupt) -> Self {
        Self::interrupted(interrupt)
    }
}

impl TurnOutcome {
    /// Returns the outcome of a complete answer.
    pub(super) fn done() -> Self {
        Self { end: TurnEnd::End, notice: None, retry_after: None }
    }

    /// Returns the outcome of a complete answer with a notice.
    pub(super) fn noted(reason: EndReason, sentence: &str) -> Self {
        Self::of(TurnEnd::End, reason, sentence)
    }

    /// Returns the outcome of an answer that became too long.
    pub(super) fn too_long() -> Self {
        Self::noted(
            EndReason::Length,
            "The answer ends here because it reached the model's output limit (`model.max_tokens`).",
        )
    }

    /// Returns the outcome of an answer for whose rest the window has no room. The next turn compacts the conversation.
    pub(super) fn window_full() -> Self {
        Self::noted(
            EndReason::Length,
            "The answer ends here because the conversation fills the model's context window; older messages are \
             summarised before the next answer.",
        )
    }

    /// Returns the outcome of a stopped turn.
    pub(super) fn stopped(cause: Cause) -> Self {
        match cause {
            Cause::Person => Self::of(TurnEnd::Stopped, EndReason::Stopped, "Stopped."),
            Cause::Shutdown => Self::of(
                TurnEnd::Stopped,
                EndReason::Shutdown,
                "Stopped, because the assistant was shut down.",
            ),
            Cause::TakenOver => Self::fault(EndReason::Storage, TAKEN_OVER),
        }
    }

    /// Returns the outcome of a turn that a person stopped before it began.
    pub(super) fn withdrawn() -> Self {
        Self::of(TurnEnd::Stopped, EndReason::Withdrawn, "Stopped before it was answered.")
    }

    /// Returns the outcome of a turn that reached a limit.
    pub(super) fn limit(reason: EndReason, sentence: impl Into<String>) -> Self {
        Self::of(TurnEnd::Limit, reason, sentence)
    }

    /// Returns the outcome of a failed turn.
    pub(super) fn failed(failure: Failure) -> Self {
        let end = if failure.code.is_budget() { TurnEnd::Budget } else { TurnEnd::Error };
        let retry_after = failure.retry_after;
        Self { end, notice: Some((failure.code, failure.message)), retry_after }
    }

    /// Returns the outcome of an answer that does not fit the schema that was asked for.
    pub(super) fn misfit(fault: &str) -> Self {
        let sentence = format!(
            "The answer does not fit the JSON Schema, also after the model was asked to correct it: {fault}. Ask again, \
             or choose another model (`model.model_id`)."
        );
        Self::of(TurnEnd::Error, EndReason::SchemaMismatch, sentence)
    }

    /// Returns the outcome of a turn that failed by a fault of this program.
    pub(super) fn fault(reason: EndReason, sentence: &str) -> Self {
        Self::of(TurnEnd::Error, reason, sentence)
    }

    /// Returns the outcome of an interrupted turn.
    pub(super) fn interrupted(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::Stopped(cause) => Self::stopped(cause),
            Interrupt::TimedOut(timeout) => Self::limit(
                EndReason::TurnTimeout,
                format!(
                    "Stopped: this took longer than {} seconds (`agent.turn_timeout_seconds`).",
                    timeout.as_secs()
                ),
            ),
        }
    }

    fn of(end: TurnEnd, reason: EndReason, sentence: impl Into<String>) -> Self {
        Self { end, notice: Some((reason, sentence.into())), retry_after: None }
    }

    /// Returns whether it ended because the program is shutting down.
    pub(super) fn is_shutdown(&self) -> bool {
        matches!(self.notice, Some((EndReason::Shutdown, _)))
    }

    /// Converts it into the form that hooks get.
    pub(super) fn failure(self) -> Failure {
        let (code, message) = self.notice.unwrap_or((EndReason::Internal, String::new()));
        Failure::new(code, message).with_retry_after(self.retry_after)
    }

    /// Records the outcome in the turn's last message.
    pub(super) fn seal(&self, message: &mut Message) {
        if let Some((reason, sentence)) = &self.notice {
            message.content.push(Block::notice(reason.as_str(), sentence));
        }
        message.stop_reason = Some(self.end);
    }

    /// Builds the reply of the turn.
    pub(super) fn reply(&self, job: &Job, said: String, model: String, usage: Usage) -> Reply {
        let mut text = said;
        if let Some((_, sentence)) = &self.notice {
            // Exactly this much: growing by doubling would copy a long text into twice its size.
            text.reserve_exact(2 + sentence.len());
            if !text.trim().is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(sentence);
        }
        let failure = match (self.end, &self.notice) {
            (TurnEnd::End | TurnEnd::Stopped, _) | (_, None) => None,
            (_, Some((reason, sentence))) => {
                Some(Failure::new(reason.clone(), sentence).with_retry_after(self.retry_after))
            }
        };
        let (turn, session) = (job.turn.clone(), job.session().clone());
        Reply { turn, session, text, end: self.end, model, usage, failure }
    }
}

/// Returns the person's error message about a failed model, with the exact wait if there is one.
pub(super) fn failure(error: &ModelError, retry_after: Option<Duration>) -> Failure {
    let mut message = error.to_string();
    let seconds = retry_after.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    if let Some(seconds) = seconds {
        // The exact wait replaces the approximate one in the sentence. What other models say stands behind it.
        let (sentence, rest) = match message.split_once("; try again") {
            Some((sentence, rest)) => (sentence, rest.split_once(". ").map_or("", |(_, rest)| rest)),
            None => (message.as_str(), ""),
        };
        let (sentence, wait) = (sentence.trim_end_matches('.'), in_words(seconds));
        let rest = if rest.is_empty() { String::new() } else { format!(" {rest}") };
        message = format!("{sentence}.{rest} Try again in {wait}.");
    }
    Failure::new(error.kind(), message).with_retry_after(seconds)
}
