//! `manage_specialists`: lists, creates and removes specialists that are kept as files. It is among the tools that need
//! approval by default, and exists only while `agent.dynamic_specialists` is on.

use std::sync::Arc;

use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::definition::{Definition, name};
use super::file;
use super::folder::SpecialistFolder;

/// The tool.
pub struct ManageSpecialists {
    spec: ToolSpec,
    folder: Arc<SpecialistFolder>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to do: `list` those that were made here, `create` or replace one, or `remove` one.
    action: Action,
    /// The name: a-z, 0-9 and _. You ask it with the tool `ask_NAME`. Not for `list`.
    name: Option<String>,
    /// Its purpose, in a sentence. For `create`.
    description: Option<String>,
    /// Its instructions for every request: who it is, how it works, what its report holds. For `create`.
    prompt: Option<String>,
    /// The names of the tools that it may use; `*` stands for any part of one. Those that only look when absent.
    tools: Option<Vec<String>>,
    /// The id of another model of the same provider; the usual one when absent.
    model: Option<String>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Create,
    Remove,
}

impl ManageSpecialists {
    /// The tool for this folder.
    pub fn new(folder: Arc<SpecialistFolder>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "manage_specialists",
            "Makes specialists of your own that stay: an assistant with its own instructions and a choice of your tools, \
             which you ask with `ask_NAME` from your next request on. Make one only when the same kind of task keeps coming.",
        )
        .with_role("prompt", ArgumentRole::Remembered)
        .with_role("description", ArgumentRole::Remembered)
        .with_effect(Effect::ActsLater)
        .open_to(Trust::Owner);
        Self { spec, folder }
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SpecialistFolder) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ToolError> {
        let folder = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || work(&folder)).await;
        done.map_err(|error| ToolError::failed(error.to_string()))?.map_err(ToolError::failed)
    }
}

#[async_trait]
impl Tool for ManageSpecialists {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        match arguments.action {
            Action::List => {
                let all = self.on_disk(|folder| {
                    folder.refresh();
                    Ok(folder.definitions())
                });
                let (_, all) = all.await?;
                let entry = |one: &Definition| json!({"name": one.name, "description": one.role, "tools": one.tools, "model": one.model});
                let listed: Vec<Value> = all.iter().map(entry).collect();
                let text = if listed.is_empty() {
                    "none was made here yet".into()
                } else {
                    json!(listed).to_string()
                };
                Ok(ToolOutput::text(text))
            }
            Action::Create => {
                let definition = arguments.into_definition().map_err(ToolError::failed)?;
                let called = definition.name.clone();
                self.on_disk(move |folder| folder.save(&definition)).await?;
                Ok(ToolOutput::text(format!(
                    "`{called}` is there; ask it with `ask_{called}` from your next request on"
                )))
            }
            Action::Remove => {
                let called = needed(arguments.name, "name").map_err(ToolError::failed)?;
                let confirmation = format!("`{called}` is removed");
                self.on_disk(move |folder| folder.remove(&called)).await?;
                Ok(ToolOutput::text(confirmation))
            }
        }
    }
}

impl Arguments {
    fn into_definition(self) -> Result<Definition, String> {
        let called = needed(self.name, "name")?;
        let (role, prompt) = (needed(self.description, "description")?, needed(self.prompt, "prompt")?);
        let plain = file::parse(&called, &format!("# {}\n{prompt}", role.replace('\n', " ")))?;
        let tools = self.tools.unwrap_or(plain.tools);
        if let Some(strange) = tools.iter().find(|tool| tool.contains([',', '\n']) || tool.trim().is_empty())
        {
            return Err(format!("{strange:?} is no name of a tool"));
        }
        Ok(Definition { name: name(&called)?, role: plain.role, prompt, tools, model: self.model })
    }
}

fn needed(value: Option<String>, name: &str) -> Result<String, String> {
    value.filter(|value| !value.trim().is_empty()).ok_or_else(|| format!("this action needs `{name}`"))
}
