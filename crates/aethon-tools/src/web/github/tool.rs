//! The tool.

use std::sync::Arc;

use aethon_core::secret::Secret;
use aethon_core::tool::{ArgumentRole, Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use ureq::http::header;

use super::document::{self, Asks};
use crate::web::call_timeout;
use crate::web::client::WebClient;
use crate::web::json::{JsonRequest, pretty};
use crate::web::options::GitHubOptions;
use crate::web::target::Target;

/// Queries GitHub.
pub(crate) struct GitHub {
    spec: ToolSpec,
    client: Arc<WebClient>,
    target: Target,
    token: Secret,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The GraphQL document: a query, or a mutation, which needs the person's approval.
    query: String,
    /// The values of its variables.
    variables: Option<Map<String, Value>>,
    /// Which operation of the document is meant, if there are several.
    operation_name: Option<String>,
}

impl GitHub {
    /// Creates the tool. The error says why the service's address is invalid.
    pub(in crate::web) fn new(client: Arc<WebClient>, options: &GitHubOptions) -> Result<Self, String> {
        let address = format!("{}/graphql", options.base.trim().trim_end_matches('/'));
        let target = Target::parse(&address).map_err(|refusal| refusal.to_string())?;
        let spec = ToolSpec::of::<Arguments>(
            "github",
            "Asks GitHub's GraphQL interface with the owner's token: repositories, issues, pull requests, files, searches. A \
             document that holds a mutation waits for the person's word. Ask for few fields and use `first`.",
        )
        .with_role("query", ArgumentRole::Text)
        .with_untrusted_output()
        .with_effect(Effect::Sends)
        .with_timeout(call_timeout(&client));
        Ok(Self { spec, client, target, token: options.token.clone() })
    }
}

#[async_trait]
impl Tool for GitHub {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn asks_first(&self, input: &Value) -> Option<String> {
        // The call itself refuses a document that does not parse.
        let asks = document::read(input.get("query")?.as_str()?).ok()?;
        (asks == Asks::ToChange).then(|| "a mutation changes something on GitHub".to_owned())
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        document::read(&arguments.query).map_err(|why| {
            ToolError::failed(format!("`query` is no GraphQL document that can be sent: {why}"))
        })?;
        let mut call = json!({"query": arguments.query});
        if let Some(variables) = arguments.variables {
            call["variables"] = Value::Object(variables);
        }
        if let Some(name) = arguments.operation_name {
            call["operationName"] = name.into();
        }
        let request = JsonRequest::post(self.target.clone(), &call);
        let request = request.with_key(header::AUTHORIZATION, "Bearer ", &self.token)?;
        let (status, answer) = request.send(&self.client, context.trust()).await?;
        outcome(&answer, status)
    }
}

/// Formats GitHub's answer: data, errors, or both.
fn outcome(answer: &Value, status: u16) -> Result<ToolOutput, ToolError> {
    if status == 401 {
        return Err(ToolError::failed(
            "GitHub does not take the token; the owner must set `tools.github.token` again",
        ));
    }
    let errors: Vec<&str> = answer
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|error| error.get("message")?.as_str())
        .collect();
    let data = answer.get("data").filter(|data| !data.is_null());
    match (data, errors.as_slice()) {
        (Some(data), []) => Ok(ToolOutput::text(pretty(data))),
        (Some(data), errors) => {
            Ok(ToolOutput::text(format!("{}\n\nnot everything came: {}", pretty(data), errors.join("; "))))
        }
        (None, []) => {
            let message = answer.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            Err(ToolError::failed(format!("GitHub answered {status}: {message}")))
        }
        (None, errors) => Err(ToolError::failed(format!("GitHub answered: {}", errors.join("; ")))),
    }
}
