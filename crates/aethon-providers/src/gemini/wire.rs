//! Writes a `generateContent` request.

use std::collections::HashSet;

use aethon_core::message::{Opaque, ToolCall, ToolResult};
use aethon_core::model::{Effort, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value, json};

use super::DIALECT;
use crate::policy::RequestPolicy;
use crate::prompt::{self, Part, Said, Turn};
use crate::restrictions::LearnedRestriction;
use crate::settings::set;

/// The signature that Gemini 3 accepts for another model's call; without any, it refuses the conversation.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// The minimum thinking budget of the larger models of the older generation.
const MIN_BUDGET: u64 = 128;

/// Builds the body of a request. The model is part of the path.
pub(super) fn body(request: &ModelRequest, policy: &RequestPolicy) -> Value {
    let mut body = json!({ "contents": contents(request, policy) });
    if !request.system.trim().is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": &*request.system }] });
    }
    let declarations: Vec<Value> = policy.tools(request).into_iter().map(declaration).collect();
    let has_functions = !declarations.is_empty();
    let mut tools: Vec<Value> = Vec::new();
    if has_functions {
        tools.push(json!({ "functionDeclarations": declarations }));
    }
    if policy.searches_web(request) {
        tools.push(json!({ "googleSearch": {} }));
        if has_functions && policy.rules.insists_on_signatures {
            // Newer models search beside functions if the searches go back to them.
            body["toolConfig"] = json!({ "includeServerSideToolInvocations": true });
        }
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    set(&mut body, "serviceTier", policy.settings.service_tier.as_deref());
    let mut generation = Value::Object(Map::new());
    set(&mut generation, "maxOutputTokens", policy.output_limit(request));
    set(&mut generation, "temperature", policy.temperature());
    set(&mut generation, "topP", policy.top_p());
    set(&mut generation, "thinkingConfig", thinking(request, policy));
    if let Some(schema) = policy.schema(request) {
        generation["responseMimeType"] = "application/json".into();
        generation["responseJsonSchema"] = schema.as_json().clone();
    }
    if generation.as_object().is_some_and(|settings| !settings.is_empty()) {
        body["generationConfig"] = generation;
    }
    body
}

/// Returns how much the model should think: a level for newer generations, a budget for older ones.
fn thinking(request: &ModelRequest, policy: &RequestPolicy) -> Option<Value> {
    if !policy.rules.tells_thoughts || policy.has_learnt(LearnedRestriction::NoEffort) {
        return None;
    }
    let mut config = json!({ "includeThoughts": true });
    match policy.effort(request) {
        Some(effort) if policy.rules.insists_on_signatures => {
            let level = policy.rules.effort_word(effort).map(str::to_uppercase);
            set(&mut config, "thinkingLevel", level);
        }
        Some(Effort::None) if policy.rules.thinking_always_on => config["thinkingBudget"] = MIN_BUDGET.into(),
        Some(Effort::None) => config = json!({ "thinkingBudget": 0 }),
        Some(effort) => {
            set(
                &mut config,
                "thinkingBudget",
                RequestPolicy::thinking_budget(effort, policy.output_room(request)),
            );
        }
        None => {}
    }
    Some(config)
}

fn contents(request: &ModelRequest, policy: &RequestPolicy) -> Vec<Value> {
    let insists_on_signatures = policy.rules.insists_on_signatures;
    // Calls that Gemini named itself are answered by that id; foreign ids mean nothing to it.
    let mut own_ids = HashSet::new();
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::with_capacity(request.messages.len());
    for turn in prompt::turns(request, &policy.capabilities) {
        let (role, parts) = match turn {
            Turn::User(parts) | Turn::Shown(parts) => ("user", parts.iter().map(part).collect()),
            Turn::Results(results) => {
                ("user", results.iter().map(|result| response(result, &own_ids)).collect())
            }
            Turn::Assistant(said) => ("model", self::said(&said, insists_on_signatures, &mut own_ids)),
        };
        match contents.last_mut() {
            // Results and a person's additions form one user turn.
            Some((last, present)) if *last == role => present.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    if let Some(("model", _)) = contents.first() {
        contents.insert(0, ("user", vec![json!({ "text": "(Earlier messages are not shown.)" })]));
    }
    contents.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { mime, data } => json!({ "inlineData": { "mime_type": mime, "data": data } }),
    }
}

fn said<'a>(said: &[Said<'a>], insists_on_signatures: bool, own_ids: &mut HashSet<&'a str>) -> Vec<Value> {
    let mut parts = Vec::with_capacity(said.len());
    // Of parallel calls, only the first carries a signature.
    let mut is_first_call = true;
    for piece in said {
        match piece {
            Said::Text(text) => parts.push(json!({ "text": text })),
            Said::Opaque(opaque) if opaque.dialect == DIALECT => parts.push(opaque.data.clone()),
            Said::Opaque(_) | Said::Search(_) => {}
            Said::Image { mime, data, opaque } => parts.push(made_picture(mime, data, opaque)),
            Said::Call(call) => {
                let mut part = self::call(call, own_ids);
                let unsigned = part.get("thoughtSignature").is_none();
                if is_first_call && unsigned && insists_on_signatures {
                    part["thoughtSignature"] = FOREIGN_SIGNATURE.into();
                }
                is_first_call = false;
                parts.push(part);
            }
        }
    }
    parts
}

/// A picture goes back with its signature, so that the model can change it.
fn made_picture(mime: &str, data: &str, opaque: &Opaque) -> Value {
    if opaque.dialect != DIALECT {
        return json!({ "text": prompt::MADE_PICTURE });
    }
    let mut part = json!({ "inlineData": { "mime_type": mime, "data": data } });
    if let Some(signature) = opaque.data.get("thoughtSignature") {
        part["thoughtSignature"] = signature.clone();
    }
    part
}

fn call<'a>(call: &'a ToolCall, own_ids: &mut HashSet<&'a str>) -> Value {
    let mut part = json!({ "functionCall": { "name": call.name, "args": prompt::input(call) } });
    let Some(opaque) = call.opaque.as_ref().filter(|opaque| opaque.dialect == DIALECT) else { return part };
    if let Some(signature) = opaque.data.get("thoughtSignature") {
        part["thoughtSignature"] = signature.clone();
    }
    if let Some(id) = opaque.data.get("id") {
        part["functionCall"]["id"] = id.clone();
        own_ids.insert(&call.id);
    }
    part
}

fn response(result: &ToolResult, own_ids: &HashSet<&str>) -> Value {
    let key = if result.is_error || result.denied { "error" } else { "output" };
    let mut response = json!({ "name": result.name, "response": { key: prompt::output(result) } });
    if own_ids.contains(result.call.as_str()) {
        response["id"] = result.call.as_str().into();
    }
    json!({ "functionResponse": response })
}

fn declaration(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "parameters_json_schema": spec.parameters })
}
