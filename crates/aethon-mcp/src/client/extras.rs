//! Our tools for the instructions, resources and prompts of a server. They are guarded like its own tools, and only read.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::untrusted::defuse;
use async_trait::async_trait;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ResourceContents, Role, ServerCapabilities,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::options::OfferRules;
use super::returned;
use super::signals::ConnectionSignals;
use super::words::brief;

/// Maximum length of instructions.
const MAX_INSTRUCTIONS: usize = 16 * 1024;
/// Maximum length of a description that model providers accept.
const MAX_DESCRIPTION: usize = 1024;
/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 200;
/// Timeout for a list.
const LISTING: Duration = Duration::from_secs(30);

/// The parts that the tools share.
pub(super) struct Extras {
    pub(super) peer: Peer<RoleClient>,
    pub(super) server: Arc<str>,
    pub(super) rules: OfferRules,
    pub(super) signals: Arc<ConnectionSignals>,
}

/// Adds the tools to those of the server, whose names come first.
pub(super) fn add(tools: &mut Vec<Arc<dyn Tool>>, extras: &Extras) {
    let Some(info) = extras.peer.peer_info() else { return };
    let names: HashSet<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let kinds = kinds(&info.capabilities, info.instructions.as_deref());
    for kind in kinds {
        let spec = extras.rules.apply(kind.spec(&extras.server));
        if !names.contains(&spec.name) {
            let (peer, signals) = (extras.peer.clone(), extras.signals.clone());
            tools.push(Arc::new(ExtraTool { kind, spec, peer, signals }));
        }
    }
}

fn kinds(capabilities: &ServerCapabilities, instructions: Option<&str>) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let instructions = instructions.map(|text| defuse(text).trim().to_owned()).unwrap_or_default();
    if !instructions.is_empty() {
        kinds.push(Kind::Instructions(instructions.chars().take(MAX_INSTRUCTIONS).collect()));
    }
    if capabilities.resources.is_some() {
        kinds.extend([Kind::ListResources, Kind::ReadResource]);
    }
    if capabilities.prompts.is_some() {
        kinds.extend([Kind::ListPrompts, Kind::GetPrompt]);
    }
    kinds
}

/// The task of a tool.
enum Kind {
    Instructions(String),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Kind {
    fn spec(&self, server: &str) -> ToolSpec {
        let from = format!("From the MCP server `{server}`:");
        let cursor = json!({"type": "string", "description": "where a list goes on, as its last line says"});
        let (name, description, properties, required) = match self {
            Self::Instructions(text) => {
                let rest = "… (call this tool for the rest)";
                let description = format!("{from} its own words about how its tools are used. {text}");
                let description = match description.chars().count() > MAX_DESCRIPTION {
                    true => {
                        description.chars().take(MAX_DESCRIPTION - rest.chars().count()).collect::<String>()
                            + rest
                    }
                    false => description,
                };
                ("instructions", description, json!({}), json!([]))
            }
            Self::ListResources => {
                let description =
                    format!("{from} lists the documents and data that it has, with their URIs.");
                ("list_resources", description, json!({"cursor": cursor}), json!([]))
            }
            Self::ReadResource => {
                let uri =
                    json!({"type": "string", "description": "the URI, as listed, or made from a template"});
                let description = format!("{from} reads one of its documents or data by its URI.");
                ("read_resource", description, json!({"uri": uri}), json!(["uri"]))
            }
            Self::ListPrompts => {
                let description =
                    format!("{from} lists the prompts that it has for common work, with their arguments.");
                ("list_prompts", description, json!({"cursor": cursor}), json!([]))
            }
            Self::GetPrompt => {
                let properties = json!({
                    "name": {"type": "string", "description": "the prompt, as listed"},
                    "arguments": {"type": "object", "description": "its arguments, all of them texts"},
                });
                let description = format!("{from} fills in one of its prompts.");
                ("get_prompt", description, properties, json!(["name"]))
            }
        };
        let schema = json!({"type": "object", "properties": properties, "required": required});
        ToolSpec::new(format!("{server}__{name}"), description, schema)
            .with_untrusted_output()
            .described_outside()
            .reading_only()
            .with_effect(Effect::Consults)
    }
}

/// One of the tools.
struct ExtraTool {
    kind: Kind,
    spec: ToolSpec,
    peer: Peer<RoleClient>,
    signals: Arc<ConnectionSignals>,
}

impl ExtraTool {
    fn failed(&self, error: &ServiceError) -> ToolError {
        self.signals.failed(&self.spec.name, error)
    }

    async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, ServiceError>> + Send,
    ) -> Result<T, ToolError> {
        let answer = timeout(LISTING, asked).await;
        let answer = answer.map_err(|_| {
            let seconds = LISTING.as_secs();
            ToolError::failed(format!("`{}` failed: there was no answer within {seconds} s", self.spec.name))
        })?;
        answer.map_err(|error| self.failed(&error))
    }

    async fn list_resources(&self, cursor: Option<String>) -> Result<ToolOutput, ToolError> {
        let is_first = cursor.is_none();
        let asked = PaginatedRequestParams::default().with_cursor(cursor);
        let page = self.within(self.peer.list_resources(Some(asked))).await?;
        let mut list = List::default();
        for resource in &page.resources {
            let kind = resource.mime_type.as_deref().map(brief).unwrap_or_default();
            let title = resource.title.as_deref().unwrap_or(&resource.name);
            list.add(&resource.uri, &[title, &kind, resource.description.as_deref().unwrap_or_default()]);
        }
        list.end(page.next_cursor);
        // Not every server that has resources knows templates.
        let templates =
            if is_first { self.within(self.peer.list_resource_templates(None)).await.ok() } else { None };
        if let Some(templates) = templates.filter(|page| !page.resource_templates.is_empty()) {
            list.text.push_str("\nTemplates, whose {parts} are to be filled in:\n");
            for template in &templates.resource_templates {
                let title = template.title.as_deref().unwrap_or(&template.name);
                let said = template.description.as_deref().unwrap_or_default();
                list.add(&template.uri_template, &[title, said]);
            }
        }
        Ok(list.output("There are no resources."))
    }

    async fn read_resource(&self, uri: String) -> Result<ToolOutput, ToolError> {
        let read = self.peer.read_resource_once(ReadResourceRequestParams::new(uri));
        let contents = match read.await.map_err(|error| self.failed(&error))? {
            ReadResourceResponse::Complete(result) => result.contents,
            _ => return Err(self.needs_input()),
        };
        let (mut texts, mut pictures) = (Vec::new(), Vec::new());
        for content in contents {
            match content {
                ResourceContents::TextResourceContents { text, .. } => texts.push(text),
                ResourceContents::BlobResourceContents { mime_type: Some(mime), blob, .. }
                    if matches!(&*mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp") =>
                {
                    pictures.push((mime, blob));
                }
                ResourceContents::BlobResourceContents { uri, .. } => {
                    texts.push(format!("[{}: data that is no text]", brief(&uri)));
                }
                _ => {}
            }
        }
        let output = ToolOutput::text(texts.join("\n"));
        Ok(pictures.into_iter().fold(output, |output, (mime, data)| output.with_image(mime, data)))
    }

    async fn list_prompts(&self, cursor: Option<String>) -> Result<ToolOutput, ToolError> {
        let asked = PaginatedRequestParams::default().with_cursor(cursor);
        let page = self.within(self.peer.list_prompts(Some(asked))).await?;
        let mut list = List::default();
        for prompt in &page.prompts {
            let arguments = prompt.arguments.iter().flatten().map(|argument| {
                let need = if argument.required == Some(true) { ", needed" } else { "" };
                format!("{}{need}", brief(&argument.name))
            });
            let arguments = arguments.collect::<Vec<_>>().join("; ");
            let arguments =
                if arguments.is_empty() { String::new() } else { format!("arguments: {arguments}") };
            let title = prompt.title.as_deref().unwrap_or_default();
            list.add(&prompt.name, &[title, prompt.description.as_deref().unwrap_or_default(), &arguments]);
        }
        list.end(page.next_cursor);
        Ok(list.output("There are no prompts."))
    }

    async fn get_prompt(&self, input: &Value) -> Result<ToolOutput, ToolError> {
        let mut params = GetPromptRequestParams::new(input["name"].as_str().unwrap_or_default());
        if let Some(arguments) = input["arguments"].as_object() {
            // The protocol has texts only.
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let arguments = arguments.iter().map(|(name, value)| (name.clone(), text(value).into()));
            params.arguments = Some(arguments.collect());
        }
        let messages = match self.peer.get_prompt_once(params).await.map_err(|error| self.failed(&error))? {
            GetPromptResponse::Complete(result) => result.messages,
            _ => return Err(self.needs_input()),
        };
        let messages = messages.into_iter().filter_map(|message| {
            let text = returned::text(message.content)?;
            Some(if message.role == Role::Assistant { format!("Assistant: {text}") } else { text })
        });
        Ok(ToolOutput::text(messages.collect::<Vec<_>>().join("\n\n")))
    }

    /// Asks the server.
    async fn answer(&self, input: &Value) -> Result<ToolOutput, ToolError> {
        let text = |name: &str| input[name].as_str().map(str::to_owned).filter(|text| !text.is_empty());
        match &self.kind {
            Kind::Instructions(text) => Ok(ToolOutput::text(text.clone())),
            Kind::ListResources => self.list_resources(text("cursor")).await,
            Kind::ReadResource => self.read_resource(text("uri").unwrap_or_default()).await,
            Kind::ListPrompts => self.list_prompts(text("cursor")).await,
            Kind::GetPrompt => self.get_prompt(input).await,
        }
    }

    fn needs_input(&self) -> ToolError {
        ToolError::failed(format!("`{}` asks for input that cannot be given here", self.spec.name))
    }
}

#[async_trait]
impl Tool for ExtraTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        if let Kind::Instructions(text) = &self.kind {
            return Ok(ToolOutput::text(text.clone()));
        }
        self.signals.running.during(context, self.answer(&input)).await
    }
}

/// A list as the model reads it.
#[derive(Default)]
struct List {
    text: String,
    entries: usize,
}

impl List {
    fn add(&mut self, name: &str, words: &[&str]) {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return;
        }
        let words = words.iter().map(|word| brief(word)).filter(|word| !word.is_empty() && word != name);
        let words = words.collect::<Vec<_>>().join("; ");
        // Writing into a string cannot fail. A name is given back as it is, so it is not shortened.
        let _ = writeln!(self.text, "- {}: {words}", defuse(name).replace(['\n', '\r'], " "));
    }

    fn end(&mut self, cursor: Option<String>) {
        if self.entries > MAX_ENTRIES {
            let _ = writeln!(self.text, "[{} more are left out]", self.entries - MAX_ENTRIES);
        }
        if let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty() && cursor.len() <= 1000) {
            let _ = writeln!(self.text, "[the list goes on with the cursor {:?}]", defuse(&cursor));
        }
    }

    fn output(self, empty: &str) -> ToolOutput {
        ToolOutput::text(if self.text.is_empty() { empty.to_owned() } else { self.text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_bounded_and_their_rest_can_be_called_for() {
        let long = format!("always\u{202e} begin with `login`. {}", "x".repeat(40_000));
        let kinds = kinds(&ServerCapabilities::default(), Some(&long));
        let [Kind::Instructions(text)] = kinds.as_slice() else { panic!("one") };
        assert_eq!(text.chars().count(), MAX_INSTRUCTIONS);
        let spec = kinds[0].spec("s");
        assert_eq!(
            (spec.name.as_str(), spec.description.chars().count()),
            ("s__instructions", MAX_DESCRIPTION)
        );
        assert!(
            spec.description.starts_with("From the MCP server `s`: its own words about"),
            "{}",
            spec.description
        );
        assert!(
            spec.description.contains("always begin with `login`")
                && spec.description.ends_with("for the rest)")
        );
        assert!(spec.described_outside && spec.untrusted_output && spec.read_only && !spec.sends());
        assert!(super::kinds(&ServerCapabilities::default(), Some(" \u{200b}")).is_empty());
    }

    #[test]
    fn lists_are_bounded() {
        let mut list = List::default();
        (0..250).for_each(|number| list.add(&format!("file:///{number}"), &["a\nname", "", "text/plain"]));
        list.end(Some("next".into()));
        let text = list.output("none").to_text();
        assert!(text.starts_with("- file:///0: a name; text/plain\n"), "{text}");
        assert!(text.contains("[50 more are left out]") && text.contains("\"next\""), "{text}");
        assert_eq!(List::default().output("none").to_text(), "none");
    }
}
