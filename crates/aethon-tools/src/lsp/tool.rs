//! `lsp`: questions about code for a language server.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{self, Location, MAX_COUNT};
use super::servers::{Document, LanguageServers};

/// Timeout of a call: a server that has to be started loads the project first.
const MAX_DURATION: Duration = Duration::from_secs(300);

/// Queries language servers.
pub(crate) struct Lsp {
    spec: ToolSpec,
    servers: Arc<LanguageServers>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Diagnostics,
    Definition,
    References,
    Hover,
    Symbols,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to ask for: what is wrong with a file, where a name is defined, where it is used, what is known of it, or which
    /// things a file (with path) or the project (with query) has.
    action: Action,
    /// The file.
    path: Option<String>,
    /// The line of the name, counted from 1.
    #[schemars(range(min = 1))]
    line: Option<u64>,
    /// The name as it stands in that line.
    symbol: Option<String>,
    /// The column of the name, counted from 1, where the line has it more than once.
    #[schemars(range(min = 1))]
    column: Option<u64>,
    /// A part of the name to look for in the whole project, with symbols.
    query: Option<String>,
}

impl Lsp {
    pub(crate) fn new(servers: Arc<LanguageServers>) -> Self {
        let description = format!(
            "Asks a language server about code: what is wrong with a file, where a name is defined and used, its type and \
             documentation, and the things of a file or a project. There is {}.",
            servers.names().join(", ")
        );
        let spec = ToolSpec::of::<Arguments>("lsp", description)
            .with_role("path", ArgumentRole::ReadPath)
            .reading_only()
            .with_untrusted_output()
            .owner_only_because(
                "has language servers run what a project's files say, with the owner's rights",
            )
            .with_timeout(MAX_DURATION);
        Self { spec, servers }
    }
}

#[async_trait]
impl Tool for Lsp {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        self.answer(&arguments, context.trust()).await.map(ToolOutput::text)
    }
}

impl Lsp {
    async fn answer(&self, arguments: &Arguments, trust: Trust) -> Result<String, ToolError> {
        let path = arguments.path.as_deref().map(str::trim).filter(|path| !path.is_empty());
        let query = arguments.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        if let (Action::Symbols, Some(query)) = (arguments.action, query) {
            if let Some(path) = path {
                // Make sure that the server of this project is running.
                self.servers.document(path, trust).await?;
            }
            return self.named(query, trust).await;
        }
        let path = path.ok_or_else(|| ToolError::failed("`path` is missing: the file that it is about"))?;
        if arguments.action == Action::Diagnostics {
            return self.servers.diagnostics(path, trust).await;
        }
        let document = self.servers.document(path, trust).await?;
        if arguments.action == Action::Symbols {
            let asked = json!({"textDocument": {"uri": document.uri}});
            return ask(&document, "textDocument/documentSymbol", &asked)
                .await
                .map(|it| answers::outline(&it));
        }
        let line =
            arguments.line.ok_or_else(|| ToolError::failed("`line` is missing: where the name stands"))?;
        let position = answers::position(&document.text, line, arguments.symbol.as_deref(), arguments.column);
        let position = position.map_err(ToolError::failed)?;
        let mut asked = json!({"textDocument": {"uri": document.uri}, "position": position});
        match arguments.action {
            Action::Hover => ask(&document, "textDocument/hover", &asked).await.map(|it| answers::hover(&it)),
            Action::References => {
                asked["context"] = json!({"includeDeclaration": true});
                self.locations(&ask(&document, "textDocument/references", &asked).await?, trust).await
            }
            _ => self.locations(&ask(&document, "textDocument/definition", &asked).await?, trust).await,
        }
    }

    async fn locations(&self, answer: &Value, trust: Trust) -> Result<String, ToolError> {
        let locations = answers::locations(answer);
        if locations.is_empty() {
            return Ok("there is none".into());
        }
        let mut text = String::new();
        for location in locations.iter().take(MAX_COUNT) {
            text.push_str(&self.format_location(location, "", trust).await);
        }
        Ok(text + &answers::left_out(locations.len()))
    }

    async fn named(&self, query: &str, trust: Trust) -> Result<String, ToolError> {
        let found: Vec<_> =
            self.servers.symbols_named(query).await?.iter().filter_map(answers::named).collect();
        if found.is_empty() {
            return Ok("there is none".into());
        }
        let mut text = String::new();
        for (what, location) in found.iter().take(MAX_COUNT) {
            text.push_str(&self.format_location(location, what, trust).await);
        }
        Ok(text + &answers::left_out(found.len()))
    }

    /// Formats a location as one line, with the text there.
    async fn format_location(&self, location: &Location, what: &str, trust: Trust) -> String {
        let (path, line) = self.servers.line_at(&location.uri, location.line, trust).await;
        let what = if what.is_empty() { line } else { what.to_owned() };
        format!("{path}:{}:{}: {what}\n", location.line + 1, location.column + 1)
    }
}

async fn ask(document: &Document, method: &str, asked: &Value) -> Result<Value, ToolError> {
    let is_empty = |answer: &Value| answer.is_null() || answer.as_array().is_some_and(Vec::is_empty);
    document.server()?.ask(method, asked, is_empty).await.map_err(ToolError::failed)
}
