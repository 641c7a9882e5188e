//! Writes a Converse request.

use std::collections::BTreeSet;

use aethon_core::message::ToolResult;
use aethon_core::model::ModelRequest;
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::answer_format;
use crate::anthropic::thinking;
use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::rules::bare_name;
use crate::settings::set;

/// Builds the body of a request. The model is part of the path.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy) -> Value {
    let rules = &policy.rules;
    let turns = prompt::turns(request, &policy.capabilities);
    let mut tools = tools(request, policy, &turns);
    let mut messages = messages(&turns);
    let mut body = json!({});
    if !request.system.trim().is_empty() {
        let mut system = vec![json!({ "text": &*request.system })];
        mark(&mut system, rules.cache_points);
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        mark(&mut tools, rules.tool_cache_points);
        body["toolConfig"] = json!({ "tools": tools });
    }
    if policy.offers_tools(request) && rules.cache_points {
        mark_newest(&mut messages);
    }
    let in_wire_form = |(role, content)| json!({ "role": role, "content": content });
    body["messages"] = messages.into_iter().map(in_wire_form).collect();
    let fields = model_fields(request, policy);
    let mut inference = json!({});
    set(&mut inference, "maxTokens", policy.output_limit(request));
    // Claude accepts neither while it thinks.
    let thinks = fields.get("thinking").is_some_and(|thinking| thinking["type"] != "disabled");
    if !thinks {
        set(&mut inference, "temperature", policy.temperature());
        set(&mut inference, "topP", policy.top_p());
    }
    if inference.as_object().is_some_and(|settings| !settings.is_empty()) {
        body["inferenceConfig"] = inference;
    }
    if let Some(tier) = &policy.settings.service_tier {
        body["serviceTier"] = json!({ "type": tier });
    }
    if let Some(schema) = policy.schema(request) {
        body["outputConfig"] = json!({ "textFormat": answer_format::converse(schema) });
    }
    if !fields.is_empty() {
        body["additionalModelRequestFields"] = fields.into();
    }
    body
}

/// Returns the fields that the service passes on to the model: how much to think, in its vendor's form.
fn model_fields(request: &ModelRequest, policy: &RequestPolicy) -> Map<String, Value> {
    let name = bare_name(&policy.capabilities.model);
    let mut fields = json!({});
    if name.starts_with("claude") {
        thinking::of(request, policy, DIALECT).write(&mut fields);
    } else if name.starts_with("gpt-oss") {
        let effort = policy.effort(request).and_then(|effort| policy.rules.effort_word(effort));
        set(&mut fields, "reasoning_effort", effort);
    }
    if let Value::Object(fields) = fields { fields } else { Map::new() }
}

/// Lets the service cache everything up to here.
fn mark(blocks: &mut Vec<Value>, takes_it: bool) {
    if takes_it {
        blocks.push(json!({ "cachePoint": { "type": "default" } }));
    }
}

/// Marks the newest content, and the newest of the previous request, as for Anthropic.
fn mark_newest(messages: &mut [(&str, Vec<Value>)]) {
    let of_the_user = messages.iter_mut().rev().filter(|(role, _)| *role == "user");
    for (_, content) in of_the_user.take(2) {
        mark(content, true);
    }
}

fn tools(request: &ModelRequest, policy: &RequestPolicy, turns: &[Turn<'_>]) -> Vec<Value> {
    if policy.offers_tools(request) {
        return request.tools.iter().map(tool).collect();
    }
    // The service refuses a conversation with calls but no tools, so the called tools are declared again.
    let mut called = BTreeSet::new();
    for turn in turns {
        match turn {
            Turn::Assistant(said) => called.extend(said.iter().filter_map(|piece| match piece {
                Said::Call(call) => Some(call.name.as_str()),
                _ => None,
            })),
            Turn::Results(results) => called.extend(results.iter().map(|result| result.name.as_str())),
            Turn::User(_) | Turn::Shown(_) => {}
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

fn messages(turns: &[Turn<'_>]) -> Vec<(&'static str, Vec<Value>)> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::with_capacity(turns.len());
    for turn in turns {
        let (role, content): (_, Vec<Value>) = match turn {
            Turn::User(parts) | Turn::Shown(parts) => ("user", parts.iter().map(part).collect()),
            Turn::Results(results) => ("user", results.iter().map(|result| tool_result(result)).collect()),
            Turn::Assistant(said) => ("assistant", said.iter().filter_map(said_block).collect()),
        };
        match messages.last_mut() {
            // Results and a person's additions form one user turn.
            Some((last, blocks)) if *last == role => blocks.extend(content),
            _ => messages.push((role, content)),
        }
    }
    if let Some(("assistant", _)) = messages.first() {
        messages.insert(0, ("user", vec![json!({ "text": "(Earlier messages are not shown.)" })]));
    }
    messages
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
        Said::Search(_) => None,
        Said::Text(text) => Some(json!({ "text": text })),
        Said::Image { .. } => Some(json!({ "text": prompt::MADE_PICTURE })),
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
