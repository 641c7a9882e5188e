//! An assistant's tools behind their guards.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aethon_core::audit::{AuditAction, AuditEntry};
use aethon_core::hook::{ToolDecision, TurnContext};
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::telemetry::{TelemetryEvent, TelemetryKind, TelemetryStatus};
use aethon_core::tool::{START_WAIT, Tool, ToolContext, ToolError, ToolSource, ToolSpec, Toolbox};
use async_trait::async_trait;
use tokio::time::{Instant, timeout};

use super::approval_prompt::{ApprovalPrompt, GatedCall};
use super::approvals::Approvals;
use super::arguments;
use super::returned::Returned;
use super::table::{ToolTable, ToolTables};
use crate::catch_panic::catch_panic;
use crate::hooks::Hooks;

/// Tools that run only after every check, and with a person's approval if one is needed.
pub struct GuardedToolbox {
    tables: ToolTables,
    hooks: Hooks,
    prompt: ApprovalPrompt,
}

impl GuardedToolbox {
    /// Combines the tools of these sources, in this order; if two have the same name, the first wins.
    pub fn new(sources: Vec<Arc<dyn ToolSource>>, hooks: Hooks, approvals: Approvals) -> Self {
        let prompt = ApprovalPrompt { approvals, hooks: hooks.clone() };
        Self { tables: ToolTables::new(sources), hooks, prompt }
    }

    /// Runs a call if nothing stands in its way; otherwise the error says what does. `call` receives the arguments that
    /// it runs with.
    async fn guarded(
        &self,
        table: &ToolTable,
        context: &ToolContext,
        call: &mut ToolCall,
    ) -> Result<Returned, ToolError> {
        let Some(tool) = table.get(&call.name) else {
            let (name, names) = (&call.name, table.names());
            return Err(ToolError::failed(format!("there is no tool `{name}`; there are: {names}")));
        };
        let spec = tool.spec();
        // Before every check, so that what is checked is what runs.
        arguments::coerce(spec, &mut call.input);
        arguments::check(spec, &call.input).map_err(ToolError::failed)?;
        let mut edited = None;
        let decision = self.hooks.before_tool(context, spec, call).await;
        match decision.with_question(tool.asks_first(&call.input)) {
            ToolDecision::Allow => {}
            ToolDecision::Deny(reason) => {
                self.note_refusal(context, call, &reason).await;
                return Err(ToolError::denied(reason));
            }
            ToolDecision::Ask(reason) => {
                let gated = GatedCall { context, tool: &**tool, call, reason: &reason };
                edited = self.prompt.ask(&gated).await.map_err(ToolError::denied)?;
            }
        }
        if let Some(input) = &edited {
            call.input = input.clone();
        }
        context.has_begun.store(true, Ordering::Relaxed);
        let started = Instant::now();
        let ran = run(&**tool, &context.asking_with(Arc::new(self.prompt.clone())), call).await;
        let took = started.elapsed();
        if let Ok(Returned { outcome: Err(error), .. }) = &ran
            && error.is_denied()
        {
            self.note_refusal(context, call, &error.to_string()).await;
        }
        ran.map(|returned| Returned { edited, took: Some(took), ..returned })
    }

    /// Measures a finished call. The time that a person took to decide does not count.
    fn measure(&self, table: &ToolTable, context: &ToolContext, call: &ToolCall, ended: &Ended) {
        let Approvals { clock, bus, .. } = &self.prompt.approvals;
        // A model may invent any number of names.
        let name = if table.get(&call.name).is_some() { call.name.as_str() } else { "(unknown tool)" };
        let event = TelemetryEvent::new(TelemetryKind::ToolCall, name, ended.status, clock.now())
            .took(ended.took)
            .within(Some(&context.session), Some(&context.turn))
            .with_detail(&ended.why);
        bus.record(event);
    }

    /// Records that a rule refused a call, before it ran or within the tool.
    async fn note_refusal(&self, context: &ToolContext, call: &ToolCall, reason: &str) {
        let Approvals { clock, audit, bus, .. } = &self.prompt.approvals;
        let denial =
            TelemetryEvent::new(TelemetryKind::Denial, &call.name, TelemetryStatus::Denied, clock.now());
        bus.record(denial.within(Some(&context.session), Some(&context.turn)).with_detail(reason));
        let entry = AuditEntry::new(clock.now(), AuditAction::Refusal, &call.name, "refused")
            .by("a rule")
            .within(&context.session, &context.turn)
            .with_detail(format!("{reason}; {}", call.input));
        audit.record(entry).await;
    }
}

/// How a call ended.
struct Ended {
    status: TelemetryStatus,
    took: Duration,
    why: String,
}

impl Ended {
    fn of(returned: &Returned) -> Self {
        let (status, why) = match &returned.outcome {
            Ok(_) => (TelemetryStatus::Ok, String::new()),
            Err(error) if error.is_denied() => (TelemetryStatus::Denied, error.to_string()),
            // A program's output before its failure does not belong in a record that is shown everywhere.
            Err(error) => {
                (TelemetryStatus::Error, error.to_string().lines().next().unwrap_or_default().to_owned())
            }
        };
        Self { status, took: returned.took.unwrap_or_default(), why }
    }
}

async fn run(tool: &dyn Tool, context: &ToolContext, call: &ToolCall) -> Result<Returned, ToolError> {
    let spec = tool.spec();
    let running = catch_panic(tool.call(context, call.input.clone()));
    let done = match spec.timeout {
        None => running.await,
        Some(limit) => timeout(limit, running).await.map_err(|_| {
            let (name, seconds) = (&spec.name, limit.as_secs());
            ToolError::failed(format!("`{name}` took longer than {seconds} s and was ended"))
        })?,
    };
    match done {
        // The only place where it matters that a tool returns untrusted output.
        Ok(outcome) => {
            Ok(Returned { outcome, is_untrusted: spec.untrusted_output, edited: None, took: None })
        }
        Err(panic) => {
            tracing::error!(tool = spec.name, panic, "a tool panicked");
            let name = &spec.name;
            Err(ToolError::failed(format!("`{name}` failed because of a fault in it; the log has more")))
        }
    }
}

#[async_trait]
impl Toolbox for GuardedToolbox {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.tables.current().specs.clone()
    }

    fn specs_for(&self, turn: &TurnContext) -> Arc<[ToolSpec]> {
        let specs = self.specs();
        if turn.trust().is_owner() || specs.iter().all(|spec| self.hooks.offer(turn, spec)) {
            return specs;
        }
        specs.iter().filter(|spec| self.hooks.offer(turn, spec)).cloned().collect()
    }

    fn starting(&self) -> Vec<String> {
        self.tables.starting()
    }

    async fn ready(&self) {
        // What is still starting then is named where it matters.
        let _ = timeout(START_WAIT, self.tables.ready()).await;
    }

    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult {
        let table = self.tables.current();
        // A person may change the arguments; the hooks see what actually runs.
        let mut call = call.clone();
        let returned = self.guarded(&table, context, &mut call).await.unwrap_or_else(Returned::ours);
        self.measure(&table, context, &call, &Ended::of(&returned));
        let mut result = returned.into_result(&call);
        self.hooks.after_tool(context, &call, &mut result).await;
        result
    }
}
