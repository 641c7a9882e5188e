//! `shell`: runs a command in a shell.
//!
//! Uses `bash` if available, because that is what models write, and `sh` otherwise; without a terminal, without input,
//! and with an environment that contains nothing of the assistant's.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::live::Live;
use aethon_core::sandbox::Sandbox;
use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_guard::redact::Redactor;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::background::{self, CommandRegistry, NewCommand};
use super::process::ExitKind;
use super::runner::{Outcome, Runner, Script};
use super::slots::MAX_WAIT;
use crate::files::Workspace;
use crate::options::{Options, ShellOptions};

/// Maximum length of a command; the system accepts arguments of 128 KiB.
const MAX_COMMAND: usize = 100_000;
/// How much longer a call may take than the command's own timeout plus its wait for a slot.
const LEEWAY: Duration = Duration::from_secs(10);

/// Runs commands.
pub(crate) struct Shell {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    options: ShellOptions,
    runner: Arc<Runner>,
    /// The commands that outlive their calls.
    background: CommandRegistry,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command, as you would type it at a prompt. It may have several lines.
    command: String,
    // The description for the model depends on the configuration.
    #[schemars(range(min = 1))]
    timeout_seconds: Option<u64>,
    /// The directory to run the command in. Leave it out for the workspace.
    cwd: Option<String>,
    /// Runs on after the call; `background_commands` reads and stops it.
    background: Option<bool>,
}

impl Shell {
    pub(crate) fn new(
        options: &Options,
        workspace: Arc<Workspace>,
        redactor: Live<Redactor>,
        background: CommandRegistry,
    ) -> Self {
        let runner = Arc::new(Runner::new(options, redactor));
        let spec = spec(&runner, &options.shell);
        Self { spec, workspace, options: options.shell.clone(), runner, background }
    }
}

fn spec(runner: &Runner, options: &ShellOptions) -> ToolSpec {
    let (usual, most) = (options.timeout.as_secs(), options.max_timeout.as_secs());
    let (shell, sandbox) = (runner.shell_name(), describe_sandbox(runner.sandbox()));
    let description = format!(
        "Runs a command with {shell} in the workspace directory and returns its exit status and what it writes, stdout \
         and stderr together. There is no terminal and no input: pass the options that keep programs from asking \
         questions. The command and everything that it started end with the call, unless `background` is set. \
         {sandbox}"
    );
    ToolSpec::of::<Arguments>("shell", description)
        .with_keyword("timeout_seconds", "maximum", most)
        .with_keyword(
            "timeout_seconds",
            "description",
            format!("How many seconds the command may take. Leave it out for {usual}."),
        )
        .with_role("command", ArgumentRole::Command)
        .with_role("cwd", ArgumentRole::ReadPath)
        .with_effect(runner.effect())
        .with_untrusted_output()
        .with_timeout(options.max_timeout + MAX_WAIT + LEEWAY)
}

/// Describes the environment of a command for the model.
fn describe_sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::None => {
            "The assistant's own files and the places of keys and credentials (~/.ssh and the like) are closed to it, what \
             programs run at their start (~/.bashrc, ~/.local/bin and the like) can only be read, and nothing new can be made \
             directly in the folders that hold them, such as the home folder itself: work in the workspace or in a folder of \
             the home. In a turn that a stranger's words began, make new things in a folder of the workspace or in /tmp. \
             The owner opens a place with `security.allowed_paths`."
        }
        Sandbox::Docker => {
            "It runs in a container in which only the workspace is kept; /tmp goes with the container, everything else is \
             read-only, and there is no network unless the owner gave it one."
        }
        Sandbox::Kernel => {
            "It runs in a sandbox: only the workspace can be changed and is kept, the home folder and /tmp are empty and go \
             with the call, and there is no network unless the owner gave it one."
        }
    }
}

#[async_trait]
impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let command = checked(&arguments.command)?;
        let (workspace, wanted) =
            (self.workspace.for_turn(context.trust()), arguments.cwd.unwrap_or_default());
        let directory =
            tokio::task::spawn_blocking(move || workspace.directory(&wanted)).await.map_err(|_| {
                ToolError::failed("looking up the directory failed because of a fault in the program")
            })??;
        if arguments.background == Some(true) {
            let limit = arguments.timeout_seconds.map(|seconds| Duration::from_secs(seconds.max(1)));
            let new = NewCommand { command, directory, limit };
            return background::start(&self.background, &self.runner, new, context).await;
        }
        let limit = self.limit(arguments.timeout_seconds);
        let script = Script { session: &context.session, command, directory, limit };
        report_of(&self.runner, script, context).await
    }
}

/// Runs a command and reports the result to the model.
pub(crate) async fn report_of(
    runner: &Runner,
    script: Script<'_>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let limit = script.limit;
    match runner.run(script, context).await {
        Ok(outcome) => report(&outcome, limit),
        Err(error) => Err(ToolError::failed(error)),
    }
}

impl Shell {
    fn limit(&self, wanted: Option<u64>) -> Duration {
        let wanted = wanted.map_or(self.options.timeout, |seconds| Duration::from_secs(seconds.max(1)));
        wanted.min(self.options.max_timeout)
    }
}

fn checked(command: &str) -> Result<&str, ToolError> {
    if command.trim().is_empty() || command.contains('\0') {
        return Err(ToolError::failed("`command` is empty or contains a NUL character"));
    }
    if command.len() > MAX_COMMAND {
        return Err(ToolError::failed(format!(
            "`command` is longer than {MAX_COMMAND} bytes; write it into a file and run that"
        )));
    }
    Ok(command)
}

/// Formats the report for the model. The time is in whole seconds, and only given if it matters: two runs with the same
/// outcome must read the same, or a turn that goes in circles would not be noticed.
fn report(Outcome { ran, output }: &Outcome, limit: Duration) -> Result<ToolOutput, ToolError> {
    let mut text = output.text();
    if text.is_empty() {
        text.push_str("[no output]");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if ran.left_running {
        text.push_str("[its background processes were ended]\n");
    }
    if let Some(note) = &ran.note {
        text.push_str(&format!("[{note}]\n"));
    }
    let after = match ran.took.as_secs() {
        0 => String::new(),
        seconds => format!(" after {seconds} s"),
    };
    match ran.ended {
        Some(ExitKind::Status(status)) => text.push_str(&format!("[exit status {status}{after}]")),
        Some(ExitKind::Signal(signal)) => text.push_str(&format!("[killed by signal {signal}{after}]")),
        Some(ExitKind::Unknown) => text.push_str(&format!("[ended{after}; the exit status is not known]")),
        None => {
            let limit = limit.as_secs();
            text.push_str(&format!(
                "[not done after {limit} s: the command and everything it had started was killed; `timeout_seconds` \
                 can give it longer]"
            ));
            return Err(ToolError::failed(text));
        }
    }
    Ok(ToolOutput::text(text))
}
