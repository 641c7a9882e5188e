//! Writes a chat request.

use aethon_core::model::{Effort, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::rules::bare_name;
use crate::settings::set;

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy) -> Value {
    let mut body = json!({
        "model": policy.capabilities.model,
        "messages": messages(request, policy),
        "stream": true,
    });
    if policy.offers_tools(request) {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    set(&mut body, "think", policy.effort(request).map(|effort| think(effort, policy)));
    set(&mut body, "format", policy.schema(request).map(|schema| schema.as_json().clone()));
    body["options"] = options(request, policy).into();
    body
}

/// Returns a boolean, which every thinking model accepts. Only gpt-oss gets a level, and its thinking cannot be
/// disabled.
fn think(effort: Effort, policy: &RequestPolicy) -> Value {
    let is_told_a_level = bare_name(&policy.capabilities.model).starts_with("gpt-oss");
    match (is_told_a_level, effort) {
        (true, Effort::None) => Effort::Low.as_str().into(),
        (true, effort) => effort.as_str().into(),
        (false, effort) => (effort != Effort::None).into(),
    }
}

fn options(request: &ModelRequest, policy: &RequestPolicy) -> Map<String, Value> {
    let all: [(&str, Option<Value>); 4] = [
        ("num_predict", policy.output_limit(request).map(Value::from)),
        // Always the same for a model, because Ollama loads it anew for each other value. Without it, Ollama takes its
        // own, however much the model can take, and cuts what is longer.
        ("num_ctx", Some(policy.capabilities.context_window.into())),
        ("temperature", policy.temperature().map(Value::from)),
        ("top_p", policy.top_p().map(Value::from)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn messages(request: &ModelRequest, policy: &RequestPolicy) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for turn in prompt::turns(request, &policy.capabilities) {
        match turn {
            Turn::User(parts) | Turn::Shown(parts) => messages.push(user(&parts)),
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
            Said::Image { .. } => texts.push(prompt::MADE_PICTURE),
            Said::Call(call) => {
                calls.push(json!({ "function": { "name": call.name, "arguments": prompt::input(call) } }));
            }
            Said::Opaque(_) | Said::Search(_) => {}
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
