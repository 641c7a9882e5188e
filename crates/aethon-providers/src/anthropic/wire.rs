//! Writes a request to the messages API.

use std::collections::HashSet;

use aethon_core::message::ToolResult;
use aethon_core::model::ModelRequest;
use aethon_core::tool::ToolSpec;
use aethon_core::web_search::WEB_SEARCH;
use serde_json::{Value, json};

use super::{DIALECT, thinking};
use crate::answer_format;
use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::settings::set;

/// How many searches one answer may take: enough for a thorough one, and a bound on what it costs.
const MAX_SEARCHES: u64 = 8;

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy) -> Value {
    let mut messages = messages(request, policy);
    let thinking = thinking::of(request, policy, DIALECT);
    let mut body = json!({
        "model": policy.capabilities.model,
        // The service requires a limit.
        "max_tokens": policy.output_room(request),
        "stream": true,
    });
    if !request.system.trim().is_empty() {
        let mut block = text(&request.system);
        mark(&mut block);
        body["system"] = json!([block]);
    }
    let mut tools: Vec<Value> = policy.tools(request).into_iter().map(tool).collect();
    let has_tools = !tools.is_empty();
    if policy.searches_web(request) {
        // In front, where it leaves the mark of the cache on the last tool.
        tools.insert(
            0,
            json!({ "type": "web_search_20250305", "name": WEB_SEARCH, "max_uses": MAX_SEARCHES }),
        );
    }
    if !tools.is_empty() {
        tools.last_mut().into_iter().for_each(mark);
        body["tools"] = tools.into();
    }
    if has_tools {
        mark_newest(&mut messages);
    }
    set(&mut body, "service_tier", policy.settings.service_tier.as_deref());
    let in_wire_form = |(role, content)| json!({ "role": role, "content": content });
    body["messages"] = messages.into_iter().map(in_wire_form).collect();
    if !thinking.is_on() {
        set(&mut body, "temperature", policy.temperature());
        set(&mut body, "top_p", policy.top_p());
    }
    thinking.write(&mut body);
    if let Some(schema) = policy.schema(request) {
        body["output_config"]["format"] = answer_format::messages(schema);
    }
    body
}

/// Lets the service cache everything up to here.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

/// Marks the newest block, and the one that was newest in the previous request. From a mark, the service looks back
/// about twenty blocks for cached content. A step with many calls adds more than that, but the second mark still
/// finds the previous step. Requests without tools get no marks: they are sent once, and writing a cache that is
/// never read only costs.
fn mark_newest(messages: &mut [(&str, Vec<Value>)]) {
    let of_the_user = messages.iter_mut().rev().filter(|(role, _)| *role == "user");
    for (_, content) in of_the_user.take(2) {
        content.last_mut().into_iter().for_each(mark);
    }
}

fn messages(request: &ModelRequest, policy: &RequestPolicy) -> Vec<(&'static str, Vec<Value>)> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::with_capacity(request.messages.len());
    let mut turns: Vec<(&str, Vec<Value>)> = prompt::turns(request, &policy.capabilities)
        .into_iter()
        .map(|turn| match turn {
            Turn::User(parts) | Turn::Shown(parts) => ("user", parts.iter().map(part).collect()),
            Turn::Results(results) => ("user", results.iter().map(|result| tool_result(result)).collect()),
            Turn::Assistant(said) => ("assistant", said.iter().flat_map(said_blocks).collect()),
        })
        .collect();
    leave_out_open_searches(&mut turns);
    for (role, content) in turns {
        match messages.last_mut() {
            // Results and a person's additions form one user turn.
            Some((last, blocks)) if *last == role => blocks.extend(content),
            _ => messages.push((role, content)),
        }
    }
    if let Some(("assistant", _)) = messages.first() {
        messages.insert(0, ("user", vec![text("(Earlier messages are not shown.)")]));
    }
    messages
}

/// Leaves out searches without a result, which the service refuses, except in a last answer that it has paused and goes on
/// with. A turn that failed after such a pause leaves one behind.
fn leave_out_open_searches(turns: &mut Vec<(&str, Vec<Value>)>) {
    let text_at = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    let blocks = turns.iter().flat_map(|(_, blocks)| blocks);
    let answered: HashSet<String> = blocks.filter_map(|block| text_at(block, "tool_use_id")).collect();
    let is_open = |block: &Value| {
        block.get("type").is_some_and(|kind| kind == "server_tool_use")
            && text_at(block, "id").is_none_or(|id| !answered.contains(&id))
    };
    let paused = turns.len().checked_sub(1).filter(|last| turns[*last].0 == "assistant");
    for (place, (_, blocks)) in turns.iter_mut().enumerate() {
        if Some(place) != paused {
            blocks.retain(|block| !is_open(block));
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
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

fn said_blocks(said: &Said<'_>) -> Vec<Value> {
    match said {
        // A search is several blocks: its call and its result.
        Said::Search(opaque) if opaque.dialect == DIALECT => match &opaque.data {
            Value::Array(blocks) => blocks.clone(),
            block => vec![block.clone()],
        },
        said => said_block(said).into_iter().collect(),
    }
}

fn said_block(said: &Said<'_>) -> Option<Value> {
    match said {
        Said::Search(_) => None,
        Said::Text(words) => Some(text(words)),
        Said::Image { .. } => Some(text(prompt::MADE_PICTURE)),
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
