//! Writing a Converse request.

use std::collections::BTreeSet;

use aethon_core::message::ToolResult;
use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::facts::Facts;
use crate::prompt::{self, Part, Said, Turn};
use crate::settings::{Settings, set};

/// The body of a request. The model stands in the path.
pub(super) fn body(
    request: &ModelRequest,
    capabilities: &Capabilities,
    facts: &Facts,
    settings: &Settings,
) -> Value {
    let turns = prompt::turns(request, capabilities);
    let tools = tools(request, capabilities, &turns);
    let mut body = json!({ "messages": messages(&turns, facts) });
    if !request.system.trim().is_empty() {
        let mut system = vec![json!({ "text": &*request.system })];
        mark(&mut system, facts.takes_cache_points());
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        let mut tools = tools;
        mark(&mut tools, facts.takes_tool_cache_points());
        body["toolConfig"] = json!({ "tools": tools });
    }
    let mut inference = Value::Object(Map::new());
    set(&mut inference, "maxTokens", settings.max_tokens);
    set(&mut inference, "temperature", settings.temperature);
    set(&mut inference, "topP", settings.top_p);
    if inference.as_object().is_some_and(|settings| !settings.is_empty()) {
        body["inferenceConfig"] = inference;
    }
    body
}

/// The service may cache everything up to here.
fn mark(blocks: &mut Vec<Value>, takes_it: bool) {
    if takes_it {
        blocks.push(json!({ "cachePoint": { "type": "default" } }));
    }
}

fn tools(request: &ModelRequest, capabilities: &Capabilities, turns: &[Turn<'_>]) -> Vec<Value> {
    if capabilities.tools && !request.tools.is_empty() {
        return request.tools.iter().map(tool).collect();
    }
    // A conversation that holds calls is refused without tools, so those that were called are named again.
    let mut called = BTreeSet::new();
    for turn in turns {
        match turn {
            Turn::Assistant(said) => called.extend(said.iter().filter_map(|piece| match piece {
                Said::Call(call) => Some(call.name.as_str()),
                _ => None,
            })),
            Turn::Results(results) => called.extend(results.iter().map(|result| result.name.as_str())),
            Turn::User(_) => {}
        }
    }
    let schema = json!({ "json": { "type": "object" } });
    called.into_iter().map(|name| json!({ "toolSpec": { "name": name, "inputSchema": schema } })).collect()
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "toolSpec": {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": { "json": spec.parameters },
    } })
}

fn messages(turns: &[Turn<'_>], facts: &Facts) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::with_capacity(turns.len());
    for turn in turns {
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
        messages.insert(0, ("user", vec![json!({ "text": "(Earlier messages are not shown.)" })]));
    }
    if let Some(before_newest) = messages.len().checked_sub(2).and_then(|at| messages.get_mut(at)) {
        mark(&mut before_newest.1, facts.takes_cache_points());
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { mime, data } => {
            let format = mime.rsplit('/').next().unwrap_or(mime);
            json!({ "image": { "format": format, "source": { "bytes": data } } })
        }
    }
}

fn said_block(said: &Said<'_>) -> Option<Value> {
    match said {
        Said::Text(text) => Some(json!({ "text": text })),
        Said::Opaque(opaque) => {
            (opaque.dialect == DIALECT).then(|| json!({ "reasoningContent": opaque.data }))
        }
        Said::Call(call) => Some(json!({ "toolUse": {
            "toolUseId": prompt::plain_id(&call.id),
            "name": call.name,
            "input": prompt::input(call),
        } })),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let mut block = json!({
        "toolUseId": prompt::plain_id(&result.call),
        "content": [{ "text": prompt::output(result) }],
    });
    if result.is_error || result.denied {
        block["status"] = "error".into();
    }
    json!({ "toolResult": block })
}
