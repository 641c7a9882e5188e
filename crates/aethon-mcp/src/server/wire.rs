//! Converts tools, results and prompts to protocol types.

use std::sync::Arc;

use aethon_core::message::ToolResult;
use aethon_core::tool::{OutputBlock, ToolSpec};
use rmcp::model::{
    CallToolResult, ContentBlock, JsonObject, Prompt as WirePrompt, PromptArgument as WireArgument,
    ResourceContents, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use super::prompts::Prompt;

/// Converts a tool for a client's list.
pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let annotations = ToolAnnotations::new().read_only(spec.read_only);
    Tool::new(spec.name.clone(), spec.description.clone(), schema(&spec.parameters))
        .with_annotations(annotations)
}

/// Makes the schema an object with a type: clients reject a whole list for one schema that is not.
fn schema(parameters: &Value) -> Arc<JsonObject> {
    let mut schema = parameters.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| json!("object"));
    Arc::new(schema)
}

/// Converts the result of a call. A denial starts with that word, so that a person reading along recognizes it.
pub(super) fn result(mut result: ToolResult) -> CallToolResult {
    // Blocks that would only be mentioned to a model are passed to the client as they are.
    let blocks = std::mem::take(&mut result.blocks);
    let text = result.for_model();
    let text = if result.denied { format!("Denied here: {text}").into() } else { text };
    let mut content = Vec::new();
    if !text.is_empty() || blocks.is_empty() {
        content.push(ContentBlock::text(text));
    }
    for block in blocks {
        content.push(match block {
            OutputBlock::Text { text } => ContentBlock::text(text),
            OutputBlock::Image { mime, data } => ContentBlock::image(data, mime),
            OutputBlock::File { name, mime, text } => ContentBlock::resource(
                ResourceContents::text(text, format!("file:///{}", file_name(&name))).with_mime_type(mime),
            ),
        });
    }
    if result.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// Returns a name that is safe as the last part of a URI.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Converts a prompt for a client's list.
pub(super) fn prompt(prompt: Prompt) -> WirePrompt {
    let arguments = prompt.arguments.into_iter().map(|argument| {
        WireArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    WirePrompt::new(prompt.name, Some(prompt.description), Some(arguments.collect()))
}
