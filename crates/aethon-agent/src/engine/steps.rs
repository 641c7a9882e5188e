//! Decides what follows an answer of the model, within the limits of a turn.
//!
//! Nothing is asked or stored here: the decisions depend on the answer, on how the model ended it, and on what happened in
//! the turn before.

use aethon_core::message::{Block, EndReason, Message};
use aethon_core::model::{ModelErrorKind, StopReason};

use super::outcome::TurnOutcome;

/// How many times a model may pause a turn and then be resumed.
const MAX_PAUSES: u32 = 8;

/// The steps of a turn. A step is a request to the model and what follows its answer.
pub(super) struct Steps {
    number: u32,
    limit: u32,
    has_called: bool,
    pauses: u32,
    /// Whether the model was asked for the rest of an answer that its output limit cut off.
    is_continued: bool,
    sent_back: Vec<SentBack>,
}

/// Why a complete answer is sent back to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentBack {
    /// A hook objects to it.
    Objection,
    /// It does not fit the schema that was asked for.
    Misfit,
}

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// It was the closing answer: the turn ends, and calls in it are not run.
    Close,
    /// Its tool calls are run.
    RunCalls,
    /// The model's service paused; the next request goes on.
    Resume,
    /// The output limit cut it off; the next request asks for the rest.
    Continue,
    /// It is complete, and judged.
    Judge,
}

impl Steps {
    /// Creates the steps of a turn that may take this many. `has_called`: calls of the turn ran or are open already.
    pub(super) fn new(limit: u32, has_called: bool) -> Self {
        Self { number: 0, limit, has_called, pauses: 0, is_continued: false, sent_back: Vec::new() }
    }

    /// Begins the next step, if there may be one.
    pub(super) fn take_next(&mut self) -> bool {
        let may = self.number < self.limit;
        self.number += u32::from(may);
        may
    }

    /// Returns whether the model has to close the turn in this step. With a single step allowed, there is nothing to bring
    /// to a close.
    pub(super) fn is_closing(&self) -> bool {
        self.has_called && self.is_last()
    }

    /// Decides what follows an answer.
    pub(super) fn after(&mut self, answer: &Message, stop: StopReason) -> NextStep {
        if self.is_closing() {
            return NextStep::Close;
        }
        if answer.tool_calls().next().is_some() {
            self.has_called = true;
            return NextStep::RunCalls;
        }
        match stop {
            StopReason::Pause if self.pauses < MAX_PAUSES => {
                self.pauses += 1;
                NextStep::Resume
            }
            StopReason::Length if !self.is_continued && !self.is_last() && says_something(answer) => {
                self.is_continued = true;
                NextStep::Continue
            }
            _ => NextStep::Judge,
        }
    }

    /// Returns whether a complete answer may be sent back for this reason: once, and only if a step is left.
    pub(super) fn may_send_back(&self, why: SentBack, stop: StopReason) -> bool {
        stop == StopReason::End && !self.is_last() && !self.sent_back.contains(&why)
    }

    /// Notes that the answer was sent back.
    pub(super) fn send_back(&mut self, why: SentBack) {
        self.sent_back.push(why);
    }

    fn is_last(&self) -> bool {
        self.number >= self.limit
    }
}

/// Returns the outcome of a turn whose model has nothing more to do.
pub(super) fn conclude(message: &Message, stop: StopReason) -> TurnOutcome {
    const REFUSED: EndReason = EndReason::Model(ModelErrorKind::Refused);
    const UNREADABLE: EndReason = EndReason::Model(ModelErrorKind::Malformed);
    let is_picture = |block: &Block| matches!(block, Block::Image { .. });
    let is_empty = message.text().trim().is_empty() && !message.content.iter().any(is_picture);
    match (stop, is_empty) {
        (StopReason::Length, _) => TurnOutcome::too_long(),
        (StopReason::Window, _) => TurnOutcome::window_full(),
        (StopReason::Unreadable, true) => {
            TurnOutcome::fault(UNREADABLE, "The model's service sent an answer that cannot be read.")
        }
        (StopReason::Unreadable, false) => TurnOutcome::noted(
            UNREADABLE,
            "A part of this answer is missing, because the model's service sent it in a form that cannot be read.",
        ),
        (StopReason::Refusal, true) => TurnOutcome::fault(REFUSED, "The model refused to answer this."),
        (StopReason::Refusal, false) => TurnOutcome::noted(REFUSED, "The model refused to continue."),
        (_, true) => TurnOutcome::noted(
            EndReason::EmptyAnswer,
            "The model gave no answer; ask again, or ask differently.",
        ),
        (_, false) => TurnOutcome::done(),
    }
}

/// Returns whether a message has text.
pub(super) fn says_something(message: &Message) -> bool {
    !message.text().trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::message::{Role, ToolCall};
    use jiff::Timestamp;
    use serde_json::json;

    fn answer(content: Vec<Block>) -> Message {
        Message::new(Role::Assistant, content, Timestamp::UNIX_EPOCH)
    }

    fn text() -> Message {
        answer(vec![Block::text("Some words.")])
    }

    fn calls() -> Message {
        let call = ToolCall { id: "1".into(), name: "current_time".into(), input: json!({}), opaque: None };
        answer(vec![Block::ToolCall(call)])
    }

    #[test]
    fn last_step_of_a_turn_with_calls_is_the_closing_one() {
        let mut steps = Steps::new(2, false);
        assert!(steps.take_next());
        assert_eq!(steps.after(&calls(), StopReason::ToolUse), NextStep::RunCalls);
        assert!(steps.take_next());
        assert!(steps.is_closing());
        assert_eq!(steps.after(&calls(), StopReason::ToolUse), NextStep::Close);
        assert!(!steps.take_next());
    }

    #[test]
    fn only_step_of_a_turn_runs_its_calls() {
        let mut steps = Steps::new(1, false);
        assert!(steps.take_next());
        assert_eq!(steps.after(&calls(), StopReason::ToolUse), NextStep::RunCalls);
        assert!(!steps.take_next());
    }

    #[test]
    fn pauses_are_resumed_up_to_a_limit() {
        let mut steps = Steps::new(MAX_PAUSES + 2, false);
        for _ in 0..MAX_PAUSES {
            steps.take_next();
            assert_eq!(steps.after(&text(), StopReason::Pause), NextStep::Resume);
        }
        steps.take_next();
        assert_eq!(steps.after(&text(), StopReason::Pause), NextStep::Judge);
    }

    #[test]
    fn rest_of_a_cut_off_answer_is_asked_for_once() {
        let mut steps = Steps::new(9, false);
        steps.take_next();
        assert_eq!(steps.after(&answer(Vec::new()), StopReason::Length), NextStep::Judge);
        assert_eq!(steps.after(&text(), StopReason::Length), NextStep::Continue);
        assert_eq!(steps.after(&text(), StopReason::Length), NextStep::Judge);
    }

    #[test]
    fn complete_answer_is_sent_back_once_for_each_reason_while_steps_are_left() {
        let mut steps = Steps::new(2, false);
        steps.take_next();
        assert!(steps.may_send_back(SentBack::Objection, StopReason::End));
        assert!(!steps.may_send_back(SentBack::Objection, StopReason::Length));
        steps.send_back(SentBack::Objection);
        assert!(!steps.may_send_back(SentBack::Objection, StopReason::End));
        assert!(steps.may_send_back(SentBack::Misfit, StopReason::End));
        steps.take_next();
        assert!(!steps.may_send_back(SentBack::Misfit, StopReason::End));
    }
}
