//! All hooks of an assistant, in order.
//!
//! A hook that runs before an action may refuse it: the first refusal counts, and a panic is one. A hook that runs
//! after an action cannot change what happened: a panic is only logged.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::hook::{AddedContext, Hook, Review, ToolDecision, TurnContext};
use aethon_core::message::{EndReason, Failure, Inbound, Message, Reply, ToolCall, ToolResult};
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::tool::{ToolContext, ToolSpec};
use futures_util::future::poll_immediate;
use tokio::time::timeout;

use super::strangers::StrangerBounds;
use crate::catch_panic::catch_panic;

/// How long a hook may spend on an event that has already happened; nothing else bounds it.
const MAX_NOTE: Duration = Duration::from_secs(10);

/// Hooks in order, behind the bounds of turns that the owner did not begin. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    hooks: Arc<[Arc<dyn Hook>]>,
    bounds: Arc<StrangerBounds>,
    review: Option<Arc<dyn Review>>,
}

impl Hooks {
    /// Creates the chain with these hooks, in this order.
    pub fn new(hooks: Vec<Arc<dyn Hook>>) -> Self {
        Self { hooks: hooks.into(), bounds: Arc::default(), review: None }
    }

    /// Opens the tools of these bounds to people other than the owner; without bounds, nothing is opened.
    #[must_use]
    pub fn with_bounds(self, bounds: StrangerBounds) -> Self {
        Self { bounds: Arc::new(bounds), ..self }
    }

    /// Has every answer reviewed before it counts.
    #[must_use]
    pub fn with_review(self, review: Option<Arc<dyn Review>>) -> Self {
        Self { review, ..self }
    }

    /// Returns the objection of the reviewer to this answer, if there is one.
    pub(crate) async fn objection(&self, turn: &TurnContext, message: &Message) -> Option<String> {
        catch_panic(self.review.as_ref()?.objection(turn, message)).await.ok().flatten()
    }

    /// Collects the additions of all hooks, in order.
    pub(crate) async fn before_turn(
        &self,
        turn: &TurnContext,
        inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        let mut added = Vec::new();
        for hook in &*self.hooks {
            added.extend(refusing(hook.name(), hook.before_turn(turn, inbound)).await?);
        }
        Ok(added)
    }

    pub(crate) async fn before_model(
        &self,
        turn: &TurnContext,
        request: &ModelRequest,
    ) -> Result<(), Failure> {
        for hook in &*self.hooks {
            refusing(hook.name(), hook.before_model(turn, request)).await?;
        }
        Ok(())
    }

    pub(crate) async fn after_model(
        &self,
        turn: &TurnContext,
        outcome: Result<&Message, &Failure>,
        usage: &Usage,
    ) {
        for hook in &*self.hooks {
            logging(hook.name(), hook.after_model(turn, outcome, usage)).await;
        }
    }

    /// Returns whether the model of a turn is offered a tool, which it is unless every call would be refused.
    pub(crate) fn offer(&self, turn: &TurnContext, spec: &ToolSpec) -> bool {
        self.bounds.refusal(turn.trust(), &turn.person, spec).is_none()
    }

    /// Asks every hook, so that one which wants a person's approval does not hide another one's refusal.
    pub(crate) async fn before_tool(
        &self,
        context: &ToolContext,
        spec: &ToolSpec,
        call: &ToolCall,
    ) -> ToolDecision {
        if let Some(reason) = self.bounds.refusal(context.trust(), &context.person, spec) {
            return ToolDecision::Deny(reason);
        }
        let mut decision = ToolDecision::Allow;
        for hook in &*self.hooks {
            match catch_panic(hook.before_tool(context, spec, call)).await {
                Ok(ToolDecision::Allow) => {}
                Ok(ToolDecision::Deny(reason)) => return ToolDecision::Deny(reason),
                // All reasons are kept: approval for one is not approval for another.
                Ok(ToolDecision::Ask(reason)) => decision = decision.with_question(Some(reason)),
                Err(panic) => {
                    tracing::error!(hook = hook.name(), panic, "a hook panicked before a tool call");
                    return ToolDecision::Deny(format!("the check `{}` failed", hook.name()));
                }
            }
        }
        decision
    }

    pub(crate) async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        for hook in &*self.hooks {
            if let Err(panic) = catch_panic(hook.after_tool(context, call, result)).await {
                tracing::error!(hook = hook.name(), panic, "a hook panicked after a tool call");
                // The hook may have been about to remove something that must not be seen.
                result.output = format!("the output was withheld: the check `{}` failed", hook.name());
                result.blocks.clear();
                result.is_error = true;
            }
        }
    }

    pub(crate) async fn after_turn(&self, turn: &TurnContext, reply: &Reply) {
        for hook in &*self.hooks {
            logging(hook.name(), hook.after_turn(turn, reply)).await;
        }
    }
}

async fn refusing<T>(
    name: &'static str,
    check: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    catch_panic(check).await.unwrap_or_else(|panic| {
        tracing::error!(hook = name, panic, "a hook panicked");
        let message = format!("the check `{name}` failed; the log says why");
        Err(Failure::new(EndReason::Internal, message))
    })
}

async fn logging(name: &'static str, note: impl Future<Output = ()>) {
    let mut note = pin!(catch_panic(note));
    // Most hooks are done at once and need no timer.
    let noted = match poll_immediate(&mut note).await {
        Some(noted) => Ok(noted),
        None => timeout(MAX_NOTE, note).await,
    };
    match noted {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => tracing::error!(hook = name, panic, "a hook panicked"),
        Err(_) => tracing::error!(hook = name, "a hook took too long and was dropped"),
    }
}
