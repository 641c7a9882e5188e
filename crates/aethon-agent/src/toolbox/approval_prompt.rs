//! The only place that requests a person's approval before a tool runs.
//!
//! The request carries the exact arguments that will be used and, if the tool can tell, the changes they would make.
//! It is answered once, through the pending approvals, and counts as denied if no
//! answer comes in time or no person is present. A person may change the arguments; the changed ones pass every rule
//! again before the answer counts. A call that a person has allowed for the rest of the conversation needs no further
//! answer, provided that a person is present at all.

use std::time::Duration;

use aethon_core::approval::{
    Answer, ApprovalRequest, Decision, Pattern, ProposedAnswer, Resolution, ResolutionReason, Scope,
};
use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::event::Event;
use aethon_core::hook::ToolDecision;
use aethon_core::ids::unique;
use aethon_core::message::ToolCall;
use aethon_core::surface::TurnEvent;
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use aethon_core::tool::{Tool, ToolContext, ToolSpec};
use jiff::SignedDuration;
use serde_json::Value;
use std::sync::Arc;
use tokio::time::{Instant, sleep_until, timeout};

use super::approvals::Approvals;
use super::arguments;
use crate::catch_panic::catch_panic;
use crate::hooks::Hooks;

/// How long a tool may take to preview its changes.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(5);
/// The most characters of that preview.
const MAX_PREVIEW: usize = 20_000;
/// How long the rules may take to check changed arguments.
const MAX_LOOK: Duration = Duration::from_secs(10);

/// Asks, and waits for the answer.
#[derive(Clone)]
pub(super) struct ApprovalPrompt {
    pub(super) approvals: Approvals,
    pub(super) hooks: Hooks,
}

/// A call that needs approval.
pub(super) struct GatedCall<'q> {
    pub(super) context: &'q ToolContext,
    pub(super) tool: &'q dyn Tool,
    pub(super) call: &'q ToolCall,
    /// Why it needs approval.
    pub(super) reason: &'q str,
}

impl GatedCall<'_> {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }
}

impl ApprovalPrompt {
    /// Waits for a person's answer. Returns the arguments if the person changed them; `Err` says why the call must not
    /// run.
    pub(super) async fn ask(&self, gated: &GatedCall<'_>) -> Result<Option<Value>, String> {
        let context = gated.context;
        let pattern = Pattern::of(gated.spec(), &gated.call.input);
        let request = self.request(gated, &pattern);
        let grants = self.approvals.open.pending.grants();
        if grants.covers(&context.session, &pattern, gated.reason) {
            // The grant was given by a person in this conversation. An unattended turn has no such person.
            if !context.surface.is_attended() {
                return Err(refusal(gated, UNATTENDED));
            }
            self.note(gated, "approve", "allowed for this conversation", None).await;
            return Ok(None);
        }
        let asked_at = Instant::now();
        let open_approvals = &self.approvals.open;
        let is_noted = open_approvals.open(&context.turn, gated.call, request.created_at).await;
        let (answer, resolution, why) = self.put(gated, request).await;
        let settled = open_approvals.settle(&context.turn, gated.call, is_noted).await;
        self.measure(gated, resolution, asked_at.elapsed());
        let outcome = if resolution.decision == Decision::Approve { "approve" } else { "deny" };
        let by = match resolution.reason {
            ResolutionReason::User => answer.by.as_str(),
            ResolutionReason::Timeout | ResolutionReason::Stopped => why,
        };
        self.note(gated, outcome, by, answer.input.as_ref()).await;
        if let Err(error) = settled {
            return Err(refusal(gated, &error.to_string()));
        }
        match resolution.decision {
            Decision::Approve => {
                self.remember(gated, &answer).await;
                Ok(answer.input)
            }
            Decision::Deny => Err(refusal(gated, why)),
        }
    }

    /// Shows the request and waits until it is settled.
    async fn put(
        &self,
        gated: &GatedCall<'_>,
        mut request: ApprovalRequest,
    ) -> (Answer, Resolution, &'static str) {
        let context = gated.context;
        request.preview = preview(gated).await;
        let Some(mut ticket) = self.approvals.open.pending.open_for(context.trust(), request.clone()) else {
            let resolution = Resolution { decision: Decision::Deny, reason: ResolutionReason::Timeout };
            return (Answer::new(Decision::Deny), resolution, CROWDED);
        };
        // Dropped last, so that the request is no longer pending when its settlement is announced.
        let mut open = Open { prompt: self, context, id: request.id.clone(), settled: None, edited: None };
        let _asking = self.approvals.board.asks(&context.turn);
        context.surface.emit(&context.turn, TurnEvent::Approval(request.clone()));
        self.approvals.bus.publish(|| Event::ApprovalOpened(Arc::new(request.clone())));
        let deadline = Instant::now() + self.approvals.timeout;
        let (answer, reason, why) = loop {
            tokio::select! {
                biased;
                asked = ticket.answer() => {
                    match self.judged(gated, asked).await {
                        Some(answer) if answer.is_unasked => {
                            break (answer, ResolutionReason::Timeout, UNASKED);
                        }
                        Some(answer) => break (answer, ResolutionReason::User, DENIED),
                        None => {}
                    }
                }
                () = std::future::ready(()), if !context.surface.is_attended() => {
                    break (Answer::new(Decision::Deny), ResolutionReason::Timeout, UNATTENDED);
                }
                () = sleep_until(deadline) => {
                    break (Answer::new(Decision::Deny), ResolutionReason::Timeout, TOO_LATE);
                }
            }
        };
        let resolution = Resolution { decision: answer.decision, reason };
        open.settled = Some(resolution);
        open.edited.clone_from(&answer.input);
        (answer, resolution, why)
    }

    /// Returns the answer, unless its changed arguments break a rule: then the person is notified, and the answer
    /// does not count.
    async fn judged(&self, gated: &GatedCall<'_>, asked: ProposedAnswer) -> Option<Answer> {
        let ProposedAnswer { answer, verdict } = asked;
        let judged = match &answer.input {
            None => Ok(()),
            Some(input) => timeout(MAX_LOOK, self.check(gated, input))
                .await
                .unwrap_or_else(|_| Err("the rules took too long over these arguments".to_owned())),
        };
        let counts = judged.is_ok();
        // A person who changed no arguments is not waiting for a verdict.
        let _ = verdict.send(judged);
        counts.then_some(answer)
    }

    /// Checks changed arguments: an edit bypasses no rule.
    async fn check(&self, gated: &GatedCall<'_>, input: &Value) -> Result<(), String> {
        arguments::check(gated.spec(), input)?;
        arguments::check_types(gated.spec(), input)?;
        let call = ToolCall { input: input.clone(), ..gated.call.clone() };
        match self.hooks.before_tool(gated.context, gated.spec(), &call).await {
            ToolDecision::Deny(reason) => Err(reason),
            ToolDecision::Allow | ToolDecision::Ask(_) => Ok(()),
        }
    }

    fn request(&self, gated: &GatedCall<'_>, pattern: &Pattern) -> ApprovalRequest {
        let GatedCall { context, call, .. } = gated;
        let created_at = self.approvals.clock.now();
        let wait = SignedDuration::try_from(self.approvals.timeout).unwrap_or(SignedDuration::ZERO);
        ApprovalRequest {
            id: unique(),
            tool: gated.spec().name.clone(),
            input: call.input.clone(),
            summary: arguments::summary(gated.spec(), call),
            preview: None,
            reason: gated.reason.to_owned(),
            session_scope: pattern.describe(),
            session_id: context.session.clone(),
            turn: context.turn.clone(),
            created_at,
            expires_at: created_at.checked_add(wait).unwrap_or(created_at),
        }
    }

    /// Remembers the call allowed for the rest of the conversation: the arguments that run, including any changes.
    async fn remember(&self, gated: &GatedCall<'_>, answer: &Answer) {
        if answer.scope != Scope::Session {
            return;
        }
        let context = gated.context;
        let input = answer.input.as_ref().unwrap_or(&gated.call.input);
        let pattern = Pattern::of(gated.spec(), input);
        let entry = self.entry(gated, AuditAction::Grant, "approve").by(&answer.by);
        self.approvals.audit.record(entry.with_detail(pattern.describe_in_full())).await;
        self.approvals.open.pending.grants().allow(&context.session, pattern, gated.reason);
    }

    /// Measures how long a person took, and records the outcome.
    fn measure(&self, gated: &GatedCall<'_>, resolution: Resolution, took: Duration) {
        let status = match resolution.decision {
            Decision::Approve => TelemetryStatus::Ok,
            Decision::Deny => TelemetryStatus::Denied,
        };
        let (name, context) = (&gated.spec().name, gated.context);
        let detail = match resolution.reason {
            ResolutionReason::User => "a person decided",
            ResolutionReason::Timeout => "no one decided in time",
            ResolutionReason::Stopped => "the turn was stopped",
        };
        let event = TelemetryEvent::new(TelemetryKind::Approval, name, status, self.approvals.clock.now());
        let event = event.took(took).within(Some(&context.session), Some(&context.turn));
        self.approvals.bus.record(event.with_detail(detail));
    }

    async fn note(&self, gated: &GatedCall<'_>, outcome: &str, by: &str, edited: Option<&Value>) {
        let asked = &gated.call.input;
        let detail = match edited {
            None => asked.to_string(),
            Some(edited) => format!("{edited}, changed by the person from {asked}"),
        };
        let entry = self.entry(gated, AuditAction::Approval, outcome).by(by).with_detail(detail);
        self.approvals.audit.record(entry).await;
    }

    fn entry(&self, gated: &GatedCall<'_>, action: AuditAction, outcome: &str) -> AuditEntry {
        let GatedCall { context, .. } = gated;
        AuditEntry::new(self.approvals.clock.now(), action, &gated.spec().name, outcome)
            .within(&context.session, &context.turn)
    }
}

/// Returns the changes that a call would make, if the tool reports them in time.
async fn preview(gated: &GatedCall<'_>) -> Option<String> {
    let asked = catch_panic(gated.tool.preview(gated.context, &gated.call.input));
    let preview = timeout(PREVIEW_TIMEOUT, asked).await.ok()?.ok()??;
    match preview.char_indices().nth(MAX_PREVIEW) {
        None => Some(preview),
        Some((end, _)) => Some(format!("{}\n[... the rest is not shown ...]", &preview[..end])),
    }
}

fn refusal(gated: &GatedCall<'_>, why: &str) -> String {
    format!("`{}` was not run: {why} ({})", gated.spec().name, gated.reason)
}

const DENIED: &str = "the person denied it";
const UNATTENDED: &str = "it needs approval, and this channel cannot ask for one";
const UNASKED: &str = "it needs approval, and no person could be asked";
const CROWDED: &str = "it needs an approval, and too many other calls wait for one already";
const TOO_LATE: &str = "it was not approved in time (`approval.timeout_seconds`)";

/// An open approval request. However it ends, even if the turn is stopped, every surface that showed it is notified.
pub(super) struct Open<'a> {
    pub(super) prompt: &'a ApprovalPrompt,
    pub(super) context: &'a ToolContext,
    pub(super) id: String,
    pub(super) settled: Option<Resolution>,
    /// The arguments as a person changed them.
    pub(super) edited: Option<Value>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let stopped = Resolution { decision: Decision::Deny, reason: ResolutionReason::Stopped };
        let resolution = self.settled.unwrap_or(stopped);
        let (id, edited) = (std::mem::take(&mut self.id), self.edited.take());
        let shown = TurnEvent::ApprovalDone { id: id.clone(), resolution, edited: edited.clone() };
        self.context.surface.emit(&self.context.turn, shown);
        self.prompt.approvals.bus.publish(|| Event::ApprovalDone { id, resolution, edited });
    }
}
