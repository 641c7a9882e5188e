//! The tools of an assistant behind their guards.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aethon_core::approval::ApprovalDesk;
use aethon_core::clock::Clock;
use aethon_core::event::EventBus;
use aethon_core::hook::Verdict;
use aethon_core::message::{ToolCall, ToolResult};
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Toolbox};
use async_trait::async_trait;
use tokio::time::timeout;

use super::arguments;
use super::gate::Gate;
use crate::caught::caught;
use crate::hooks::Hooks;

/// How tools are guarded.
#[derive(Debug, Clone, Copy)]
pub struct ToolboxOptions {
    /// How long a person may think about an approval.
    pub approval_timeout: Duration,
}

impl Default for ToolboxOptions {
    fn default() -> Self {
        Self { approval_timeout: Duration::from_secs(120) }
    }
}

/// Tools that run only after every check, and only with a person's word where one is needed.
pub struct GuardedToolbox {
    tools: HashMap<String, Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
    hooks: Hooks,
    gate: Gate,
}

impl GuardedToolbox {
    /// These tools, in this order. Of two with the same name the first counts.
    pub fn new(
        tools: Vec<Arc<dyn Tool>>,
        hooks: Hooks,
        desk: ApprovalDesk,
        bus: EventBus,
        clock: Arc<dyn Clock>,
        options: ToolboxOptions,
    ) -> Self {
        let mut by_name: HashMap<String, Arc<dyn Tool>> = HashMap::new();
        let mut specs = Vec::with_capacity(tools.len());
        for tool in tools {
            let spec = tool.spec().clone();
            if by_name.contains_key(&spec.name) {
                tracing::warn!(tool = spec.name, "a second tool of this name is left out");
                continue;
            }
            by_name.insert(spec.name.clone(), tool);
            specs.push(spec);
        }
        let gate = Gate { desk, bus, clock, timeout: options.approval_timeout };
        Self { tools: by_name, specs: specs.into(), hooks, gate }
    }

    async fn guarded(&self, context: &ToolContext, call: &ToolCall) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.tools.get(&call.name) else {
            return Err(self.unknown(&call.name));
        };
        let spec = tool.spec();
        arguments::check(spec, &call.input).map_err(ToolError::failed)?;
        match self.hooks.before_tool(context, spec, call).await {
            Verdict::Allow => {}
            Verdict::Deny(reason) => return Err(ToolError::denied(reason)),
            Verdict::Ask(_) => self.gate.ask(context, spec, call).await.map_err(ToolError::denied)?,
        }
        context.has_begun.store(true, Ordering::Relaxed);
        let running = caught(tool.call(context, call.input.clone()));
        let done = match spec.timeout {
            None => running.await,
            Some(limit) => timeout(limit, running).await.map_err(|_| {
                ToolError::failed(format!(
                    "`{}` took longer than {} s and was ended",
                    spec.name,
                    limit.as_secs()
                ))
            })?,
        };
        done.unwrap_or_else(|panic| {
            tracing::error!(tool = spec.name, panic, "a tool panicked");
            Err(ToolError::failed(format!(
                "`{}` failed because of a fault in it; the log has more",
                spec.name
            )))
        })
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        ToolError::failed(format!("there is no tool `{name}`; there are: {}", names.join(", ")))
    }
}

#[async_trait]
impl Toolbox for GuardedToolbox {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult {
        let outcome = self.guarded(context, call).await;
        let (output, is_error, denied) = match outcome {
            Ok(output) => (output.text, false, false),
            Err(error) => (error.to_string(), true, error.is_denied()),
        };
        let mut result =
            ToolResult { call: call.id.clone(), name: call.name.clone(), output, is_error, denied, ms: None };
        self.hooks.after_tool(context, call, &mut result).await;
        result
    }
}
