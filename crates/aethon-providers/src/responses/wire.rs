//! Writing a responses request.

use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use super::DIALECT;
use crate::openai::reasons_by_itself;
use crate::prompt::{self, Part, Said, Turn};
use crate::settings::{Settings, set};

/// The body of a request.
pub(super) fn body(request: &ModelRequest, capabilities: &Capabilities, settings: &Settings) -> Value {
    let mut body = json!({
        "model": capabilities.model,
        "input": input(request, capabilities),
        "stream": true,
        "store": false,
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = (&*request.system).into();
    }
    if capabilities.tools && !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    set(&mut body, "max_output_tokens", settings.max_tokens);
    if reasons_by_itself(&capabilities.model) {
        // Since the service keeps nothing, its thoughts must come along, encrypted, to be sent back. Other models
        // refuse to be asked for them, and these take neither a temperature nor a nucleus of one's own.
        body["include"] = json!(["reasoning.encrypted_content"]);
    } else {
        set(&mut body, "temperature", settings.temperature);
        set(&mut body, "top_p", settings.top_p);
    }
    body
}

fn input(request: &ModelRequest, capabilities: &Capabilities) -> Vec<Value> {
    let mut items = Vec::with_capacity(request.messages.len());
    for turn in prompt::turns(request, capabilities) {
        match turn {
            Turn::User(parts) => items.push(json!({ "role": "user", "content": user_content(&parts) })),
            Turn::Assistant(said) => items.extend(said.iter().filter_map(said_item)),
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
        // The schemas of tools are not written for the strict form, which wants every field required.
        "strict": false,
    })
}
