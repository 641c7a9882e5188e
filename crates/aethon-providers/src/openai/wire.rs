//! Writing a chat completion request.

use aethon_core::message::ToolResult;
use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::profile::Profile;
use crate::capabilities::bare_name;
use crate::prompt::{self, Part, Said, Turn};
use crate::settings::{Settings, set};

/// What stands between a tool's message and a user's where a service does not take one after the other.
const INTERRUPTED: &str = "(The turn was interrupted here.)";

/// The body of a request.
pub(super) fn body(
    request: &ModelRequest,
    capabilities: &Capabilities,
    profile: &Profile,
    settings: &Settings,
) -> Value {
    let mut body = json!({
        "model": capabilities.model,
        "messages": messages(request, capabilities, profile),
        "stream": true,
    });
    if profile.asks_for_usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if capabilities.tools && !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if profile.has_reasoning_models && reasons_by_itself(&capabilities.model) {
        // These take neither a temperature nor a nucleus of one's own, and count their thoughts as output.
        set(&mut body, "max_completion_tokens", settings.max_tokens);
    } else {
        set(&mut body, "max_tokens", settings.max_tokens);
        set(&mut body, "temperature", settings.temperature);
        set(&mut body, "top_p", settings.top_p);
    }
    body
}

/// gpt-5 and the o-series.
pub(crate) fn reasons_by_itself(model: &str) -> bool {
    let name = bare_name(model);
    let is_o_series =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    name.starts_with("gpt-5") || is_o_series
}

fn messages(request: &ModelRequest, capabilities: &Capabilities, profile: &Profile) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    let mut after_tool = false;
    for turn in prompt::turns(request, capabilities) {
        let is_tool = matches!(turn, Turn::Results(_));
        match turn {
            Turn::User(parts) => {
                if after_tool && !profile.user_may_follow_tool {
                    messages.push(json!({ "role": "assistant", "content": INTERRUPTED }));
                }
                messages.push(json!({ "role": "user", "content": user_content(&parts) }));
            }
            Turn::Assistant(said) => messages.push(assistant(&said, profile)),
            Turn::Results(results) => {
                messages.extend(results.iter().map(|result| tool_message(result, profile)))
            }
        }
        after_tool = is_tool;
    }
    messages
}

/// A plain string where it is only text, because not every server takes parts.
fn user_content(parts: &[Part<'_>]) -> Value {
    if parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return prompt::joined(parts).into();
    }
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime, data } => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{data}") } })
        }
    };
    parts.iter().map(part).collect()
}

fn assistant(said: &[Said<'_>], profile: &Profile) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in said {
        match part {
            Said::Text(text) => texts.push(*text),
            Said::Call(call) => calls.push(json!({
                "id": profile.call_ids.apply(&call.id),
                "type": "function",
                "function": { "name": call.name, "arguments": prompt::input(call).to_string() },
            })),
            // Thoughts of other dialects mean nothing here.
            Said::Opaque(_) => {}
        }
    }
    let content = if texts.is_empty() { Value::Null } else { texts.join("\n\n").into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn tool_message(result: &ToolResult, profile: &Profile) -> Value {
    let mut message = json!({
        "role": "tool",
        "tool_call_id": profile.call_ids.apply(&result.call),
        "content": prompt::output(result),
    });
    if profile.names_results {
        message["name"] = result.name.as_str().into();
    }
    message
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}
