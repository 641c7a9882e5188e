//! Runs a tool that was created at runtime: its arguments arrive on standard input as JSON, its output is the result,
//! and a status other than 0 is a failure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use serde_json::Value;

use super::manifest::Manifest;
use crate::shell::{Runner, Script, report_of};

/// How much longer than the tool's own timeout a call may take: it may have to wait for a slot.
const LEEWAY: Duration = Duration::from_secs(80);
/// Maximum size of the arguments in bytes; they are passed as an argument of a process.
const MAX_INPUT: usize = 32 << 10;

/// A tool.
pub(super) struct Program {
    spec: ToolSpec,
    manifest: Manifest,
    code: String,
    executor: Executor,
}

/// Where programs run.
#[derive(Clone)]
pub(super) struct Executor {
    pub(super) runner: Arc<Runner>,
    pub(super) workspace: PathBuf,
}

impl Program {
    pub(super) fn new(manifest: Manifest, code: String, executor: Executor) -> Self {
        let limit = Duration::from_secs(manifest.timeout_seconds) + LEEWAY;
        let spec = ToolSpec::new(&manifest.name, &manifest.description, manifest.parameters.clone())
            .with_untrusted_output()
            .with_effect(executor.runner.effect())
            .with_timeout(limit);
        Self { spec, manifest, code, executor }
    }
}

#[async_trait]
impl Tool for Program {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        self.executor.run(context, &self.manifest, &self.code, &input).await
    }
}

impl Executor {
    /// Runs a program with these arguments.
    pub(super) async fn run(
        &self,
        context: &ToolContext,
        manifest: &Manifest,
        code: &str,
        input: &Value,
    ) -> Result<ToolOutput, ToolError> {
        if input.to_string().len() > MAX_INPUT {
            return Err(ToolError::failed(format!(
                "the arguments are longer than {MAX_INPUT} bytes; write them into a file of the workspace"
            )));
        }
        let command = manifest.command(code, input);
        let limit = Duration::from_secs(manifest.timeout_seconds);
        let script =
            Script { session: &context.session, command: &command, directory: self.workspace.clone(), limit };
        report_of(&self.runner, script, context).await
    }
}
