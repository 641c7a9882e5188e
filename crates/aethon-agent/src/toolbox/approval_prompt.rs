//! The one place at which a person is asked before a tool runs.
//!
//! The question carries the exact arguments that will be used, is answered once, at the desk or by the turn's own
//! surface, and counts as denied when nobody answers in time or nobody can.

use std::sync::Arc;

use aethon_core::approval::{ApprovalRequest, Decision, Resolution, ResolutionReason};
use aethon_core::event::Event;
use aethon_core::ids::unique;
use aethon_core::message::ToolCall;
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{ToolContext, ToolSpec};
use jiff::SignedDuration;
use tokio::time::sleep;

use super::arguments;
use super::guarded::Approvals;

/// Asks, and waits for the answer.
pub(super) struct ApprovalPrompt(pub(super) Approvals);

impl ApprovalPrompt {
    /// Waits for the word of a person, who is asked for this reason; `Err` says why the call must not run.
    pub(super) async fn ask(
        &self,
        context: &ToolContext,
        spec: &ToolSpec,
        call: &ToolCall,
        reason: &str,
    ) -> Result<(), String> {
        let request = self.request(context, spec, call);
        // Dropped last, so that the question is off the desk when it is told to be settled.
        let mut question = Question { prompt: self, context, id: request.id.clone(), settled: None };
        let mut ticket = self.0.pending.open(request.clone());
        context.surface.emit(&context.turn, TurnEvent::Approval(request.clone()));
        self.0.bus.publish(|| Event::ApprovalOpened(Arc::new(request.clone())));

        let (decision, by, why) = tokio::select! {
            biased;
            decision = ticket.answer() => (decision, ResolutionReason::User, DENIED),
            decision = context.surface.decide(&request) => match decision {
                Some(decision) => (decision, ResolutionReason::User, DENIED),
                None => (Decision::Deny, ResolutionReason::Timeout, UNATTENDED),
            },
            () = sleep(self.0.timeout) => (Decision::Deny, ResolutionReason::Timeout, TOO_LATE),
        };
        question.settled = Some(Resolution { decision, reason: by });
        match decision {
            Decision::Approve => Ok(()),
            Decision::Deny => Err(format!("`{}` was not run: {why} ({reason})", spec.name)),
        }
    }

    fn request(&self, context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ApprovalRequest {
        let created_at = self.0.clock.now();
        let wait = SignedDuration::try_from(self.0.timeout).unwrap_or(SignedDuration::ZERO);
        ApprovalRequest {
            id: unique(),
            tool: spec.name.clone(),
            input: call.input.clone(),
            summary: arguments::summary(spec, call),
            session_id: context.session.clone(),
            turn: context.turn.clone(),
            created_at,
            expires_at: created_at.checked_add(wait).unwrap_or(created_at),
        }
    }
}

const DENIED: &str = "the person denied it";
const UNATTENDED: &str = "it needs an approval, and nobody can give one here";
const TOO_LATE: &str = "nobody approved it in time (`approval.timeout_seconds`)";

/// An open question. However it ends, the turn being stopped included, everybody who was shown it is told.
struct Question<'a> {
    prompt: &'a ApprovalPrompt,
    context: &'a ToolContext,
    id: String,
    settled: Option<Resolution>,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let stopped = Resolution { decision: Decision::Deny, reason: ResolutionReason::Stopped };
        let resolution = self.settled.unwrap_or(stopped);
        let id = std::mem::take(&mut self.id);
        let shown = TurnEvent::ApprovalDone { id: id.clone(), resolution };
        self.context.surface.emit(&self.context.turn, shown);
        self.prompt.0.bus.publish(|| Event::ApprovalDone { id, resolution });
    }
}
