//! Writes a request to the responses API.

use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::answer_format;
use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::restrictions::LearnedRestriction;
use crate::settings::set;

/// The minimum response limit that the service accepts.
const MIN_OUTPUT: u64 = 16;

/// Builds the body of a request.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy) -> Value {
    let mut body = json!({
        "model": policy.capabilities.model,
        "input": input(request, &policy.capabilities),
        "stream": true,
        "store": false,
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = (&*request.system).into();
    }
    let mut tools: Vec<Value> = policy.tools(request).into_iter().map(tool).collect();
    if policy.searches_web(request) {
        tools.push(json!({ "type": "web_search" }));
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    set(&mut body, "service_tier", policy.settings.service_tier.as_deref());
    set(&mut body, "max_output_tokens", policy.output_limit(request).map(|limit| limit.max(MIN_OUTPUT)));
    if let Some(schema) = policy.schema(request) {
        body["text"] = json!({ "format": answer_format::responses(schema) });
    }
    set(&mut body, "temperature", policy.temperature());
    set(&mut body, "top_p", policy.top_p());
    if policy.rules.reasons {
        // The service stores nothing, so its thoughts are requested in encrypted form and sent back later. Models that
        // do not reason refuse this parameter.
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    let reasoning = reasoning(request, policy);
    if !reasoning.is_empty() {
        body["reasoning"] = reasoning.into();
    }
    if !policy.has_learnt(LearnedRestriction::NoCacheKey) {
        body["prompt_cache_key"] = prompt::cache_key(request).into();
    }
    body
}

fn reasoning(request: &ModelRequest, policy: &RequestPolicy) -> Map<String, Value> {
    let effort = policy.effort(request).and_then(|effort| policy.rules.effort_word(effort));
    let shows =
        policy.rules.reasons && effort != Some("none") && !policy.has_learnt(LearnedRestriction::NoSummary);
    let all = [("effort", effort), ("summary", shows.then_some("auto"))];
    all.into_iter().filter_map(|(key, word)| Some((key.to_owned(), word?.into()))).collect()
}

fn input(request: &ModelRequest, capabilities: &Capabilities) -> Vec<Value> {
    let mut items = Vec::with_capacity(request.messages.len());
    for turn in prompt::turns(request, capabilities) {
        match turn {
            Turn::User(parts) | Turn::Shown(parts) => {
                items.push(json!({ "role": "user", "content": user_content(&parts) }));
            }
            Turn::Assistant(said) => {
                // A thought is accepted back only together with its text or call.
                let end = said.iter().rposition(|piece| !matches!(piece, Said::Opaque(_)));
                items.extend(said.iter().take(end.map_or(0, |last| last + 1)).filter_map(said_item));
            }
            Turn::Results(results) => items.extend(results.iter().map(|result| {
                json!({
                    "type": "function_call_output",
                    "call_id": prompt::plain_id(&result.call),
                    "output": prompt::output(result),
                })
            })),
        }
    }
    items
}

fn user_content(parts: &[Part<'_>]) -> Value {
    let part = |part: &Part<'_>| match part {
        Part::Text(text) => json!({ "type": "input_text", "text": text }),
        Part::Image { mime, data } => {
            json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") })
        }
    };
    parts.iter().map(part).collect()
}

fn said_item(said: &Said<'_>) -> Option<Value> {
    match said {
        Said::Text(text) => Some(json!({ "role": "assistant", "content": text })),
        Said::Opaque(opaque) => (opaque.dialect == DIALECT).then(|| opaque.data.clone()),
        // Nothing is stored at the service, so the call goes back with its picture.
        Said::Image { data, opaque, .. } if opaque.dialect == DIALECT && opaque.data.is_object() => {
            let mut call = opaque.data.clone();
            call["result"] = (*data).into();
            Some(call)
        }
        Said::Search(opaque) => (opaque.dialect == DIALECT).then(|| opaque.data.clone()),
        Said::Image { .. } => Some(json!({ "role": "assistant", "content": prompt::MADE_PICTURE })),
        Said::Call(call) => Some(json!({
            "type": "function_call",
            "call_id": prompt::plain_id(&call.id),
            "name": call.name,
            "arguments": prompt::input(call).to_string(),
        })),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        // Tools' schemas do not follow the strict form, which makes every field required.
        "strict": false,
    })
}
