//! Writing a chat request.

use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::prompt::{self, Part, Said, Turn};
use crate::settings::Settings;

/// The body of a request.
pub(super) fn body(request: &ModelRequest, capabilities: &Capabilities, settings: &Settings) -> Value {
    let mut body = json!({
        "model": capabilities.model,
        "messages": messages(request, capabilities),
        "stream": true,
    });
    if capabilities.tools && !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let options = options(settings);
    if !options.is_empty() {
        body["options"] = options.into();
    }
    body
}

fn options(settings: &Settings) -> Map<String, Value> {
    let all: [(&str, Option<Value>); 4] = [
        ("num_predict", settings.max_tokens.map(Value::from)),
        ("num_ctx", settings.context_window.map(Value::from)),
        ("temperature", settings.temperature.map(Value::from)),
        ("top_p", settings.top_p.map(Value::from)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn messages(request: &ModelRequest, capabilities: &Capabilities) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for turn in prompt::turns(request, capabilities) {
        match turn {
            Turn::User(parts) => messages.push(user(&parts)),
            Turn::Assistant(said) => messages.push(assistant(&said)),
            Turn::Results(results) => messages.extend(results.iter().map(|result| {
                json!({ "role": "tool", "tool_name": result.name, "content": prompt::output(result) })
            })),
        }
    }
    messages
}

fn user(parts: &[Part<'_>]) -> Value {
    let mut message = json!({ "role": "user", "content": prompt::joined(parts) });
    let images: Vec<&str> = parts
        .iter()
        .filter_map(|part| if let Part::Image { data, .. } = part { Some(*data) } else { None })
        .collect();
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

fn assistant(said: &[Said<'_>]) -> Value {
    let mut texts = Vec::new();
    let mut calls: Vec<Value> = Vec::new();
    for part in said {
        match part {
            Said::Text(text) => texts.push(*text),
            Said::Call(call) => {
                calls.push(json!({ "function": { "name": call.name, "arguments": prompt::input(call) } }));
            }
            Said::Opaque(_) => {}
        }
    }
    let mut message = json!({ "role": "assistant", "content": texts.join("\n\n") });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}
