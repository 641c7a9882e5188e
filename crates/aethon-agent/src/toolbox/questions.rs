//! Asks the person what a tool needs to know while it runs, as a request for approval whose arguments are the answer.

use std::sync::Arc;

use aethon_core::approval::{ApprovalRequest, Decision, Resolution, ResolutionReason};
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::event::Event;
use aethon_core::ids::unique;
use aethon_core::surface::TurnEvent;
use aethon_core::tool::{Question, QuestionAnswer, Questions, ToolContext};
use async_trait::async_trait;
use jiff::SignedDuration;
use tokio::time::{Instant, sleep_until};

use super::approval_prompt::{ApprovalPrompt, Open};

#[async_trait]
impl Questions for ApprovalPrompt {
    async fn ask(&self, context: &ToolContext, question: Question) -> QuestionAnswer {
        let request = self.request_of(context, &question);
        let (summary, tool) = (request.summary.clone(), request.tool.clone());
        let (answer, by) = self.put_question(context, question, request).await;
        let outcome = if matches!(answer, QuestionAnswer::Accepted(_)) { "approve" } else { "deny" };
        let entry = AuditEntry::new(self.approvals.clock.now(), AuditAction::Approval, tool, outcome).by(&by);
        // What the person has entered is for the one who asked.
        let entry = entry.within(&context.session, &context.turn).with_detail(summary);
        self.approvals.audit.record(entry).await;
        answer
    }
}

impl ApprovalPrompt {
    /// Shows the question and waits until it is settled; returns also who settled it.
    async fn put_question(
        &self,
        context: &ToolContext,
        question: Question,
        request: ApprovalRequest,
    ) -> (QuestionAnswer, String) {
        let pending = &self.approvals.open.pending;
        let Some(mut ticket) = pending.open_for(context.trust(), request.clone()) else {
            return (QuestionAnswer::Unanswered, "too many questions are open".into());
        };
        // Dropped last, so that the question is no longer pending when its settlement is announced.
        let mut open = Open { prompt: self, context, id: request.id.clone(), settled: None, edited: None };
        let _asking = self.approvals.board.asks(&context.turn);
        context.surface.emit(&context.turn, TurnEvent::Approval(request.clone()));
        self.approvals.bus.publish(|| Event::ApprovalOpened(Arc::new(request.clone())));
        let deadline = Instant::now() + self.approvals.timeout;
        loop {
            let asked = tokio::select! {
                asked = ticket.answer() => asked,
                () = sleep_until(deadline) => {
                    let (decision, reason) = (Decision::Deny, ResolutionReason::Timeout);
                    open.settled = Some(Resolution { decision, reason });
                    return (QuestionAnswer::Unanswered, "no one answered in time".into());
                }
            };
            let answer = asked.answer;
            let judged = answer.input.as_ref().map_or(Ok(()), |input| (question.check)(input));
            let counts = judged.is_ok();
            // A person who changed nothing is not waiting for a verdict.
            let _ = asked.verdict.send(judged);
            if !counts {
                continue;
            }
            open.settled = Some(Resolution { decision: answer.decision, reason: ResolutionReason::User });
            open.edited.clone_from(&answer.input);
            let answered = match answer.decision {
                Decision::Approve => QuestionAnswer::Accepted(answer.input.unwrap_or(question.input)),
                Decision::Deny => QuestionAnswer::Declined,
            };
            return (answered, answer.by);
        }
    }

    fn request_of(&self, context: &ToolContext, question: &Question) -> ApprovalRequest {
        let created_at = self.approvals.clock.now();
        let wait = SignedDuration::try_from(self.approvals.timeout).unwrap_or(SignedDuration::ZERO);
        ApprovalRequest {
            id: unique(),
            tool: context.tool_name().to_owned(),
            input: question.input.clone(),
            summary: question.summary.clone(),
            preview: question.preview.clone(),
            reason: question.reason.clone(),
            session_scope: String::new(),
            session_id: context.session.clone(),
            turn: context.turn.clone(),
            created_at,
            expires_at: created_at.checked_add(wait).unwrap_or(created_at),
        }
    }
}
