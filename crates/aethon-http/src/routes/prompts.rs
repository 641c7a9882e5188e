//! `/api/prompts`: the prompts that a person keeps for the message box.

use aethon_core::prompts::{PromptName, SavedPrompt, SavedPrompts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::deps::Workflows;
use crate::error::Problem;
use crate::precondition::{self, Present};
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// The saved prompts, by name.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PromptList")]
pub(super) struct Prompts {
    prompts: Vec<SavedPrompt>,
    count: usize,
}

/// The text of a prompt.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PromptContent")]
pub(super) struct Text {
    #[schemars(length(min = 1))]
    content: String,
}

/// `GET /api/prompts`: by name.
pub(super) async fn list(workflows: Workflows, _request: Request) -> HandlerResult {
    let prompts = workflows.prompts.prompts().await?;
    response::json(&Prompts { count: prompts.len(), prompts })
}

/// `GET /api/prompts/{name}`.
pub(super) async fn show(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request)?;
    let prompt = workflows.prompts.prompt(&name).await?.ok_or_else(unknown)?;
    precondition::json(&prompt, &prompt.version())
}

/// `PUT /api/prompts/{name} {content}`: writes one.
pub(super) async fn save(workflows: Workflows, mut request: Request) -> HandlerResult {
    let name = request.params.get::<String>("name").unwrap_or_default();
    let name = PromptName::parse(&name)
        .map_err(|_| Problem::invalid("name", "must be 1 to 64 lower-case letters, digits and hyphens"))?;
    let Text { content } = request.sent().await?;
    let expected = precondition::expected_or_nothing(&request.head.headers);
    match workflows.prompts.save(&name, &content, expected).await {
        Ok(prompt) => precondition::json(&prompt, &prompt.version()),
        Err(error) if error.is_changed_elsewhere() => Err(changed(&*workflows.prompts, &name).await),
        Err(error) if error.is_invalid() => Err(Problem::invalid("content", error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// `DELETE /api/prompts/{name}`.
pub(super) async fn remove(workflows: Workflows, request: Request) -> HandlerResult {
    let name = name(&request).map_err(|unknown| precondition::missing(&request, unknown))?;
    let expected = precondition::expected(&request.head.headers);
    match workflows.prompts.remove(&name, expected).await {
        Ok(true) => Ok(response::no_content()),
        Ok(false) => Err(unknown()),
        Err(error) if error.is_changed_elsewhere() => Err(changed(&*workflows.prompts, &name).await),
        Err(error) => Err(error.into()),
    }
}

fn name(request: &Request) -> Result<PromptName, Problem> {
    let name = request.params.get::<String>("name").unwrap_or_default();
    PromptName::parse(&name).map_err(|_| unknown())
}

fn unknown() -> Problem {
    Problem::not_found("there is no prompt of this name").with_code("unknown_prompt")
}

/// Refuses a change of a prompt, with its current state.
async fn changed(prompts: &dyn SavedPrompts, name: &PromptName) -> Problem {
    match prompts.prompt(name).await {
        Ok(present) => precondition::changed_elsewhere(
            present.and_then(|prompt| Present::new(&prompt, prompt.version())),
        ),
        Err(error) => error.into(),
    }
}
