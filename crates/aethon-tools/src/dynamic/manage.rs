//! `manage_tools`: lists, adds, removes and tries tools that are created at runtime. It is on the list of tools that
//! need approval, and exists only while `runtime_tools.enabled`.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::manifest::{Interpreter, Manifest, anything};
use super::store::ToolStore;

/// Maximum duration of a trial, including the time to set up the sandbox.
const MAX_DURATION: Duration = Duration::from_secs(660);

pub(super) struct ManageTools {
    spec: ToolSpec,
    store: Arc<ToolStore>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to do: `list` what there is, `add` or replace a tool, `remove` one, or `test` a program with an input.
    action: Action,
    /// The tool's name: a-z, 0-9 and _. Not for `list`.
    name: Option<String>,
    /// What the tool does and when to use it. For `add`.
    description: Option<String>,
    /// JSON Schema of its arguments, an object. For `add`.
    parameters: Option<Value>,
    /// What runs the program. For `add`, and for `test` of a program that is not added yet.
    interpreter: Option<Interpreter>,
    /// The program. It gets its arguments as one JSON object on standard input, and its output is the result. Leave it
    /// out to `test` a tool that was added.
    code: Option<String>,
    /// How long a call may take; 60 when absent.
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// The arguments to `test` with.
    input: Option<Value>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Add,
    Remove,
    Test,
}

impl ManageTools {
    pub(super) fn new(store: Arc<ToolStore>, effect: Effect) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "manage_tools",
            "Makes tools of your own that stay: a short program with a description and a schema. It runs in a sandbox \
             that sees only the workspace. Test a program before you add it. A tool that was added is there from your \
             next request on.",
        )
        .with_role("code", ArgumentRole::Text)
        .with_untrusted_output()
        .with_effect(effect)
        .with_effect(Effect::ActsLater)
        .open_to(Trust::Owner)
        .with_timeout(MAX_DURATION);
        Self { spec, store }
    }
}

#[async_trait]
impl Tool for ManageTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        match arguments.action {
            Action::List => Ok(ToolOutput::text(self.listed())),
            Action::Remove => {
                let name = needed(arguments.name, "name")?;
                self.store.remove(&name).await.map_err(ToolError::failed)?;
                Ok(ToolOutput::text(format!("`{name}` is removed")))
            }
            Action::Add => {
                let (manifest, code) = arguments.into_tool()?;
                let name = manifest.name.clone();
                self.store.add(manifest, &code).await.map_err(ToolError::failed)?;
                Ok(ToolOutput::text(format!("`{name}` is added; it is there from your next request on")))
            }
            Action::Test => self.test(context, arguments).await,
        }
    }
}

impl ManageTools {
    fn listed(&self) -> String {
        let tools: Vec<Value> = self
            .store
            .list()
            .into_iter()
            .map(|one| json!({"name": one.name, "description": one.description, "interpreter": one.interpreter}))
            .collect();
        if tools.is_empty() { "no tool was made here yet".into() } else { json!(tools).to_string() }
    }

    async fn test(&self, context: &ToolContext, arguments: Arguments) -> Result<ToolOutput, ToolError> {
        let input = arguments.input.clone().unwrap_or_else(|| json!({}));
        let (manifest, code) = if arguments.code.is_some() {
            let trial = Arguments {
                name: arguments.name.or_else(|| Some("trial".into())),
                description: arguments.description.or_else(|| Some("A trial.".into())),
                ..arguments
            };
            trial.into_tool()?
        } else {
            self.store.find(&needed(arguments.name, "name")?).map_err(ToolError::failed)?
        };
        manifest.check(&code).map_err(ToolError::failed)?;
        self.store.executor.run(context, &manifest, &code, &input).await
    }
}

impl Arguments {
    fn into_tool(self) -> Result<(Manifest, String), ToolError> {
        let interpreter = self.interpreter.ok_or_else(|| missing("interpreter"))?;
        let manifest = Manifest {
            name: needed(self.name, "name")?,
            description: needed(self.description, "description")?,
            parameters: self.parameters.unwrap_or_else(anything),
            interpreter,
            timeout_seconds: self.timeout_seconds.unwrap_or(60),
        };
        Ok((manifest, needed(self.code, "code")?))
    }
}

fn needed(value: Option<String>, name: &str) -> Result<String, ToolError> {
    value.filter(|value| !value.trim().is_empty()).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> ToolError {
    ToolError::failed(format!("this action needs `{name}`"))
}
