//! `background_commands`: lists, reads and stops the commands that run in the background of the conversation.

use std::time::Duration;

use aethon_core::time;
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::registry::CommandRegistry;
use super::start::report;

/// How long a call may wait for news, unless turns are shorter.
const MAX_WAIT: Duration = Duration::from_secs(240);
/// How much longer a call may take than it waits.
const LEEWAY: Duration = Duration::from_secs(15);

/// Lists, reads and stops commands in the background.
pub(crate) struct BackgroundTool {
    spec: ToolSpec,
    registry: CommandRegistry,
    max_wait: Duration,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// `list` shows all commands, `read` the output of one since the last time, and `stop` ends one with all that it started.
    action: Action,
    /// The number of the command; needed to read and to stop.
    id: Option<u32>,
    /// For `read`: how many seconds to wait for new output or for the end. Leave it out to read at once.
    #[schemars(range(min = 0))]
    wait_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    List,
    Read,
    Stop,
}

impl BackgroundTool {
    /// Creates the tool; `longest` is how long a call of `shell` may take.
    pub(crate) fn new(registry: CommandRegistry, longest: Duration) -> Self {
        let max_wait = MAX_WAIT.min(longest);
        let spec = ToolSpec::of::<Arguments>(
            "background_commands",
            "Lists, reads and stops the commands that `shell` has started in the background of this conversation. When one \
             ends, your next turn is told.",
        )
        .with_keyword("wait_seconds", "maximum", max_wait.as_secs())
        .with_untrusted_output()
        .owner_only_because("reaches the commands that the owner has in the background")
        .with_timeout(max_wait + LEEWAY);
        Self { spec, registry, max_wait }
    }

    fn list(&self, context: &ToolContext) -> String {
        let records = self.registry.records(&context.session);
        let lines = records.iter().map(|record| {
            let command = self.registry.shown(record);
            let state = if command.is_running() {
                "running"
            } else {
                record.end_is_known();
                &command.outcome
            };
            format!("{}, started {}: {state}", command.name(), time::text(command.started_at))
        });
        let lines: Vec<String> = lines.collect();
        match lines.is_empty() {
            true => "no command runs in the background of this conversation".to_owned(),
            false => lines.join("\n"),
        }
    }

    async fn read(&self, context: &ToolContext, id: u32, wait: Duration) -> Result<String, ToolError> {
        let record = self.registry.find(&context.session, id).await.map_err(ToolError::failed)?;
        let reading = record.read_within(wait.min(self.max_wait)).await;
        Ok(report(&record, &reading))
    }

    async fn stop(&self, context: &ToolContext, id: u32) -> Result<String, ToolError> {
        let record = self.registry.find(&context.session, id).await.map_err(ToolError::failed)?;
        self.registry.stop_record(&record, "the assistant").await;
        Ok(report(&record, &record.read()))
    }
}

#[async_trait]
impl Tool for BackgroundTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { action, id, wait_seconds } = self.spec.parse(input)?;
        let named = || id.ok_or_else(|| ToolError::failed("`id`, the number of the command, is missing"));
        let text = match action {
            Action::List => self.list(context),
            Action::Read => {
                self.read(context, named()?, Duration::from_secs(wait_seconds.unwrap_or(0))).await?
            }
            Action::Stop => self.stop(context, named()?).await?,
        };
        Ok(ToolOutput::text(text))
    }
}
