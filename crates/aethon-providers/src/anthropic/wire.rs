//! Writing a messages request.

use aethon_core::message::ToolResult;
use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::DIALECT;
use crate::prompt::{self, Part, Said, Turn};
use crate::settings::{Settings, set};

/// The body of a request.
pub(super) fn body(request: &ModelRequest, capabilities: &Capabilities, settings: &Settings) -> Value {
    let mut body = json!({
        "model": capabilities.model,
        // The service insists on a limit.
        "max_tokens": settings.max_tokens.map_or(capabilities.max_output, u64::from),
        "messages": messages(request, capabilities),
        "stream": true,
    });
    if !request.system.trim().is_empty() {
        let mut block = text(&request.system);
        mark(&mut block);
        body["system"] = json!([block]);
    }
    if capabilities.tools && !request.tools.is_empty() {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        tools.last_mut().into_iter().for_each(mark);
        body["tools"] = tools.into();
    }
    set(&mut body, "temperature", settings.temperature);
    set(&mut body, "top_p", settings.top_p);
    body
}

/// The service may cache everything up to here.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn messages(request: &ModelRequest, capabilities: &Capabilities) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::with_capacity(request.messages.len());
    for turn in prompt::turns(request, capabilities) {
        let (role, content): (_, Vec<Value>) = match turn {
            Turn::User(parts) => ("user", parts.iter().map(part).collect()),
            Turn::Results(results) => ("user", results.iter().map(|result| tool_result(result)).collect()),
            Turn::Assistant(said) => ("assistant", said.iter().filter_map(said_block).collect()),
        };
        match messages.last_mut() {
            // Results and what a person adds to them are one turn of the user.
            Some((last, blocks)) if *last == role => blocks.extend(content),
            _ => messages.push((role, content)),
        }
    }
    if let Some(("assistant", _)) = messages.first() {
        messages.insert(0, ("user", vec![text("(Earlier messages are not shown.)")]));
    }
    if let Some(before_newest) = messages.len().checked_sub(2).and_then(|at| messages.get_mut(at)) {
        // Thoughts cannot carry the mark.
        let is_thought =
            |block: &Value| block["type"].as_str().is_some_and(|kind| kind.ends_with("thinking"));
        before_newest.1.iter_mut().rev().find(|block| !is_thought(block)).into_iter().for_each(mark);
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(words) => text(words),
        Part::Image { mime, data } => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } })
        }
    }
}

fn said_block(said: &Said<'_>) -> Option<Value> {
    match said {
        Said::Text(words) => Some(text(words)),
        Said::Opaque(opaque) => (opaque.dialect == DIALECT).then(|| opaque.data.clone()),
        Said::Call(call) => Some(json!({
            "type": "tool_use",
            "id": prompt::plain_id(&call.id),
            "name": call.name,
            "input": prompt::input(call),
        })),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": prompt::plain_id(&result.call),
        "content": prompt::output(result),
    });
    if result.is_error || result.denied {
        block["is_error"] = true.into();
    }
    block
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "input_schema": spec.parameters })
}
